package policy

// Word is one word of RL.POLICY.SET, such as LIMIT, and how it is read and
// written. It is the one place that knows the text of a policy: commands,
// HTTP and files go through it.
type Word struct {
	Name   string // in capitals
	Values int    // how many values follow it: 0, 1, or 2 (ATTR)
	Repeat bool   // it may be given more than once
	Help   string // what is allowed, for errors and documentation
	// Set reads values into p. Errors name the word and what is allowed.
	Set func(p *Policy, values [][]byte) error
	// Get returns the values that Set would read, one slice for each time the
	// word is to be given; none where p has the default.
	Get func(p *Policy) [][]string
}

// Words returns all words in the order of their documentation.
func Words() []Word { panic("not written") }

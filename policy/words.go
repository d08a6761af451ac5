package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rlserver/rlserver/limit"
)

// Word is one word of RL.POLICY.SET, such as LIMIT, and how it is read and
// written. It is the one place that knows the text of a policy: commands,
// HTTP, files and the log go through it.
type Word struct {
	Name   string // in capitals
	Field  string // its name in documents, such as on_error
	Values int    // how many values follow it: 0, 1, or 2 (ATTR)
	Repeat bool   // it may be given more than once
	Number bool   // its value is a number in documents
	List   bool   // its value may be a list in documents
	Help   string // what is allowed, for errors and documentation
	// Set reads values into p. Errors name the word and what is allowed.
	Set func(p *Policy, values [][]byte) error
	// Get returns the values that Set would read, one slice for each time the
	// word is to be given; none where p has the default.
	Get func(p *Policy) [][]string
}

// Words returns all words in the order of their documentation.
func Words() []Word {
	return []Word{
		numberWord("LIMIT", "units earned per WINDOW, 1 to 1000000000000", 1, limit.MaxUnits, func(p *Policy) *int64 { return &p.Limit }),
		windowWord(),
		numberWord("BURST", "units that pass at once, 1 to 1000000000000; 0, the default, is LIMIT", 0, limit.MaxUnits, func(p *Policy) *int64 { return &p.Burst }),
		choiceWord("ALGO", "algo", "how it counts", algorithmNames(), func(p *Policy) *limit.Algorithm { return &p.Algorithm }),
		textWord("CLIENT", "applies only to this client", func(p *Policy) *string { return &p.Client }),
		textWord("TIER", "applies only to requests of this tier", func(p *Policy) *string { return &p.Tier }),
		textWord("ENDPOINT", "applies only to requests that fit `[METHOD ]/path`; * is one segment of the path, ** at its end any number of them", func(p *Policy) *string { return &p.Endpoint }),
		attrWord(),
		perWord(),
		textWord("SCOPE", "policies of one scope compete, those of several are asked together; the default is "+DefaultScope, func(p *Policy) *string { return &p.Scope }),
		numberWord("PRIORITY", "within a scope the higher goes first, -1000000000 to 1000000000; the default is 0", -MaxPriority, MaxPriority, func(p *Policy) *int64 { return &p.Priority }),
		choiceWord("ONERROR", "on_error", "what is answered when the owner of a bucket cannot be asked", onErrors(), func(p *Policy) *OnError { return &p.OnError }),
		choiceWord("ONLOSS", "on_loss", "what a bucket starts with where counts may be lost", onLosses(), func(p *Policy) *OnLoss { return &p.OnLoss }),
		forceWord(),
		choiceWord("MODE", "mode", "whether it decides, is only counted, or is as if it did not exist", modes(), func(p *Policy) *Mode { return &p.Mode }),
	}
}

// The names of choices, by their numbers. An empty one cannot be given.
func onErrors() []string { return []string{"", "open", "closed", "local", "error"} }
func onLosses() []string { return []string{"keep", "empty"} }
func modes() []string    { return []string{"enforce", "shadow", "off"} }

func algorithmNames() []string {
	var all []string
	for _, a := range limit.Algorithms() {
		all = append(all, a.String())
	}
	return all
}

// names lists choices for a person.
func names(choices []string) string { return strings.TrimPrefix(strings.Join(choices, ", "), ", ") }

func numberWord(name, help string, lo, hi int64, field func(*Policy) *int64) Word {
	return Word{
		Name: name, Field: strings.ToLower(name), Values: 1, Number: true, Help: help,
		Set: func(p *Policy, values [][]byte) error {
			n, err := strconv.ParseInt(string(values[0]), 10, 64)
			if err != nil || n < lo || n > hi {
				return wrong(name, "must be an integer between %d and %d, got %s", lo, hi, quote(values[0]))
			}
			*field(p) = n
			return nil
		},
		Get: func(p *Policy) [][]string {
			if n := *field(p); n != 0 {
				return [][]string{{strconv.FormatInt(n, 10)}}
			}
			return nil
		},
	}
}

func windowWord() Word {
	return Word{
		Name: "WINDOW", Field: "window", Values: 1,
		Help: "the time in which LIMIT units are earned, 1ms to 366d: a whole number and ms, s, m, h or d, or of seconds",
		Set: func(p *Policy, values [][]byte) error {
			ns, ok := limit.ParseWindow(values[0])
			if !ok || ns < limit.MinWindow || ns > limit.MaxWindow {
				return wrong("WINDOW", "must be 1ms to 366d, a whole number and a unit (1500ms, 1s, 5m, 1h, 1d) or of seconds, got %s", quote(values[0]))
			}
			p.Window = ns
			return nil
		},
		Get: func(p *Policy) [][]string { return [][]string{{limit.FormatWindow(p.Window)}} },
	}
}

func textWord(name, help string, field func(*Policy) *string) Word {
	return Word{
		Name: name, Field: strings.ToLower(name), Values: 1, Help: help,
		Set: func(p *Policy, values [][]byte) error {
			if len(values[0]) == 0 {
				return wrong(name, "must not be empty; leave the word out instead")
			}
			*field(p) = string(values[0])
			return nil
		},
		Get: func(p *Policy) [][]string {
			if text := *field(p); text != "" {
				return [][]string{{text}}
			}
			return nil
		},
	}
}

func choiceWord[T ~uint8](name, field, help string, choices []string, at func(*Policy) *T) Word {
	allowed := names(choices)
	return Word{
		Name: name, Field: field, Values: 1, Help: fmt.Sprintf("%s: %s", help, allowed),
		Set: func(p *Policy, values [][]byte) error {
			for i, choice := range choices {
				if choice != "" && strings.EqualFold(string(values[0]), choice) {
					*at(p) = T(i)
					return nil
				}
			}
			return wrong(name, "must be one of %s, got %s", allowed, quote(values[0]))
		},
		Get: func(p *Policy) [][]string {
			if i := *at(p); i != 0 {
				return [][]string{{choices[i]}}
			}
			return nil
		},
	}
}

func attrWord() Word {
	return Word{
		Name: "ATTR", Field: "attr", Values: 2, Repeat: true,
		Help: fmt.Sprintf("name and pattern: applies only where the attribute's value fits, * any bytes, ? one; at most %d", MaxAttrs),
		Set: func(p *Policy, values [][]byte) error {
			if len(p.Attrs) == MaxAttrs {
				return wrong("ATTR", "may be given at most %d times", MaxAttrs)
			}
			for _, attr := range p.Attrs {
				if attr.Name == string(values[0]) {
					return wrong("ATTR", "%s is given twice", quote(values[0]))
				}
			}
			p.Attrs = append(p.Attrs, Attr{Name: string(values[0]), Pattern: string(values[1])})
			return nil
		},
		Get: func(p *Policy) [][]string {
			var all [][]string
			for _, attr := range p.Attrs {
				all = append(all, []string{attr.Name, attr.Pattern})
			}
			return all
		},
	}
}

// oneForAll is PER's text for one bucket.
const oneForAll = "-"

func perWord() Word {
	return Word{
		Name: "PER", Field: "per", Values: 1, List: true,
		Help: "whose bucket: names of attributes with commas between (client, tier, endpoint or any other), or - for one bucket for all; the default is client",
		Set: func(p *Policy, values [][]byte) error {
			if string(values[0]) == oneForAll {
				p.Per = []string{}
				return nil
			}
			p.Per = strings.Split(string(values[0]), ",")
			return nil
		},
		Get: func(p *Policy) [][]string {
			switch {
			case p.Per == nil:
				return nil
			case len(p.Per) == 0:
				return [][]string{{oneForAll}}
			}
			return [][]string{{strings.Join(p.Per, ",")}}
		},
	}
}

func forceWord() Word {
	return Word{
		Name: "FORCE", Field: "force", Help: "ONLOSS empty is meant although a refill takes more than an hour",
		Set: func(p *Policy, _ [][]byte) error {
			p.Force = true
			return nil
		},
		Get: func(p *Policy) [][]string {
			if p.Force {
				return [][]string{{}}
			}
			return nil
		},
	}
}

package commands

import (
	"strings"

	"github.com/rlserver/rlserver/policy"
)

// RL.POLICY.SET name LIMIT n WINDOW w [...]
func policySetCommand() Command {
	return Command{
		Name: "rl.policy.set", Aliases: []string{"rl.policyset"}, Group: GroupPolicies, Since: "0.2.0",
		Summary:    "Sets a policy: replaces the whole of it, or creates it.",
		Complexity: "O(log n) in the policies, and a majority of the voters writes it to disk",
		Flags:      FlagWrite | FlagNames, Keys: oneKey(), Category: CategoryAdmin,
		Args:  policySetArgs(),
		Reply: "integer: the version; the same content again keeps it",
		Help:  policySetHelp(),
		Run:   runPolicySet,
	}
}

// mustGive are the words that every policy needs.
func mustGive(word string) bool { return word == "LIMIT" || word == "WINDOW" }

func policySetArgs() []Arg {
	args := []Arg{{Name: "name", Type: TypeKey}}
	for _, word := range policy.Words() {
		arg := Arg{Name: strings.ToLower(word.Name), Type: TypeString, Token: word.Name, Optional: !mustGive(word.Name), Multiple: word.Repeat}
		switch word.Values {
		case 0:
			arg.Type = TypeToken
		case 2:
			arg.Name = "name pattern"
		}
		args = append(args, arg)
	}
	return append(args, Arg{Name: "version", Type: TypeInteger, Token: "IFVERSION", Optional: true})
}

func policySetHelp() []string {
	help := []string{"The words stand in any order, each once, ATTR as often as needed. What is left out has its default."}
	for _, word := range policy.Words() {
		help = append(help, word.Name+": "+word.Help)
	}
	return append(help,
		"IFVERSION v: only if the policy has this version; 0: only if there is none.",
		"It is answered when a majority of the voters has it on disk. An error changes nothing, but for one that says that the outcome is unknown.",
		"What clients used so far stays used under the new limits.",
	)
}

func runPolicySet(c *Call) error {
	view, err := c.policies()
	if err != nil {
		return err
	}
	p, ifVersion, err := c.readPolicy()
	if err != nil {
		return err
	}
	rule, err := policy.Compile(*p, c.d.cfg.Bounds)
	if err != nil {
		return err
	}
	if err := view.Check(rule); err != nil {
		return err
	}
	if warn := c.d.cfg.Events.PolicyWarning; warn != nil {
		for _, warning := range view.Warnings(rule) {
			warn(p.Name, warning)
		}
	}
	await(c, "RL.POLICY.GET", func(done func(uint64, error)) {
		c.d.cfg.Policies.Set(p, ifVersion, done)
	}, func(version uint64) {
		c.W.Int(int64(version))
	})
	return nil
}

// readPolicy reads the policy; ifVersion is nil if it may have any version.
func (c *Call) readPolicy() (p *policy.Policy, ifVersion *uint64, err error) {
	r := c.reader()
	p = &policy.Policy{Name: string(r.take("name"))}
	words := policy.Words()
	given := make([]bool, len(words))
	for r.more() {
		name := r.take("a word")
		if equalFold(name, "IFVERSION") {
			if ifVersion != nil {
				r.fail("IFVERSION is given twice")
			}
			version := uint64(r.integer("IFVERSION", 0, maxVersion))
			ifVersion = &version
			continue
		}
		r.policyWord(p, words, given, name)
	}
	return p, ifVersion, r.end()
}

// maxVersion is the largest version that fits an integer reply.
const maxVersion = 1<<63 - 1

// policyWord reads a word, of which the name was read, with its values.
func (r *reader) policyWord(p *policy.Policy, words []policy.Word, given []bool, name []byte) {
	for i := range words {
		word := &words[i]
		if !equalFold(name, word.Name) {
			continue
		}
		if given[i] && !word.Repeat {
			r.fail("%s is given twice", word.Name)
			return
		}
		given[i] = true
		from := r.next
		for range word.Values {
			r.take(word.Name)
		}
		if r.err == nil {
			r.err = word.Set(p, r.args[from:r.next])
		}
		return
	}
	r.fail("unknown word %s; RL.HELP RL.POLICY.SET lists them", quote(name))
}

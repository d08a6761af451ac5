package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rlserver/rlserver/limit"
)

// Bounds of what a policy may say.
const (
	MaxName     = 128 // bytes of a policy's name
	MaxValue    = 512 // bytes of a client, a tier or the pattern of an attribute
	MaxEndpoint = 512 // bytes of an endpoint's pattern
	MaxSegments = 32  // of an endpoint's pattern
	MaxAttrs    = 16  // attributes that one policy asks for, or counts by
	MaxAttrName = 64  // bytes of an attribute's name
	MaxScope    = 64  // bytes of a scope's name
	MaxPriority = 1_000_000_000
	MaxScopes   = 16 // scopes of a View: as many buckets may one request meet
)

// The longest time from empty to full, in nanoseconds, for which a loss may
// set a bucket to empty without FORCE.
const maxRefillAfterLoss = 3600 * 1_000_000_000

// Compile checks a policy and makes it ready, in the one form that equal
// policies have. Errors are *Error: they name the word that is wrong and what
// is allowed.
func Compile(p Policy, bounds limit.Bounds) (*Rule, error) {
	if err := checkText("name", p.Name, 1, MaxName); err != nil {
		return nil, err
	}
	if p.Window%limit.MinWindow != 0 {
		return nil, wrong("WINDOW", "must be whole milliseconds, got %d ns", p.Window)
	}
	spec, err := bounds.Spec(p.Algorithm, p.Limit, p.Window, p.Burst)
	if err != nil {
		return nil, ofWord(err)
	}
	r := &Rule{Policy: p, Spec: spec}
	for _, step := range []func(*Rule) error{compileMatch, compilePer, compileScope, compileFailure} {
		if err := step(r); err != nil {
			return nil, err
		}
	}
	r.order = r.specificity()
	r.identity = r.identityPrefix()
	return r, nil
}

// compileMatch checks what the policy matches.
func compileMatch(r *Rule) error {
	if err := checkText("CLIENT", r.Client, 0, MaxValue); err != nil {
		return err
	}
	if err := checkText("TIER", r.Tier, 0, MaxValue); err != nil {
		return err
	}
	if r.Endpoint != "" {
		var err error
		if r.endpoint, err = parsePattern(r.Endpoint); err != nil {
			return err
		}
	}
	if len(r.Attrs) > MaxAttrs {
		return wrong("ATTR", "may be given at most %d times, got %d", MaxAttrs, len(r.Attrs))
	}
	r.Attrs = slices.Clone(r.Attrs)
	slices.SortStableFunc(r.Attrs, func(a, b Attr) int { return strings.Compare(a.Name, b.Name) })
	for i, attr := range r.Attrs {
		if err := checkAttrName("ATTR", attr.Name); err != nil {
			return err
		}
		switch attr.Name {
		case attrClient, attrTier, attrEndpoint:
			return wrong("ATTR", "%s has a word of its own, %s", attr.Name, strings.ToUpper(attr.Name))
		}
		if i > 0 && r.Attrs[i-1].Name == attr.Name {
			return wrong("ATTR", "%s is given twice", attr.Name)
		}
		if err := checkText("ATTR "+attr.Name, attr.Pattern, 1, MaxValue); err != nil {
			return err
		}
	}
	return nil
}

// compilePer checks whose bucket is charged.
func compilePer(r *Rule) error {
	if r.Per == nil || len(r.Per) == 1 && r.Per[0] == attrClient {
		r.Per = nil
		return nil
	}
	if len(r.Per) > MaxAttrs {
		return wrong("PER", "may name at most %d attributes, got %d", MaxAttrs, len(r.Per))
	}
	r.Per = slices.Clone(r.Per)
	for i, name := range r.Per {
		if err := checkAttrName("PER", name); err != nil {
			return err
		}
		if slices.Contains(r.Per[:i], name) {
			return wrong("PER", "names %s twice", name)
		}
	}
	return nil
}

func compileScope(r *Rule) error {
	if r.Scope == DefaultScope {
		r.Scope = ""
	}
	if err := checkText("SCOPE", r.Scope, 0, MaxScope); err != nil {
		return err
	}
	if r.Priority < -MaxPriority || r.Priority > MaxPriority {
		return wrong("PRIORITY", "must be an integer between %d and %d, got %d", -MaxPriority, MaxPriority, r.Priority)
	}
	return nil
}

// compileFailure checks what the policy does when something fails.
func compileFailure(r *Rule) error {
	switch {
	case r.OnError > OnErrorError:
		return wrong("ONERROR", "must be one of %s", names(onErrors()))
	case r.OnLoss > OnLossEmpty:
		return wrong("ONLOSS", "must be one of %s", names(onLosses()))
	case r.Mode > Off:
		return wrong("MODE", "must be one of %s", names(modes()))
	case r.OnLoss == OnLossEmpty && !r.Force:
		// A new bucket with full debt is full after the whole refill.
		spent := limit.Spent(r.Spec, 0)
		if refill := limit.FullIn(r.Spec, &spent, 0); refill > maxRefillAfterLoss {
			return wrong("ONLOSS", "empty would deny for up to %s after a loss, more than an hour: add FORCE if that is meant, or use ONLOSS keep",
				limit.FormatWindow(refill/1_000_000_000*1_000_000_000))
		}
	}
	return nil
}

// checkText refuses what is not lo to hi bytes of printable UTF-8: a policy is
// shown in files, on pages and in logs.
func checkText(word, text string, lo, hi int) error {
	if len(text) < lo || len(text) > hi {
		return wrong(word, "must be %d to %d bytes, got %d", lo, hi, len(text))
	}
	if !utf8.ValidString(text) {
		return wrong(word, "must be UTF-8 text, got %s", quote(text))
	}
	if i := strings.IndexFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }); i >= 0 {
		return wrong(word, "must have no character that is not printed, got %s", quote(text))
	}
	return nil
}

// checkAttrName refuses names that PER could not list.
func checkAttrName(word, name string) error {
	ok := name != "" && len(name) <= MaxAttrName
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		ok = ok && (letter || i > 0 && (c == '-' || c == '_' || c == '.'))
	}
	if !ok {
		return wrong(word, "names are 1 to %d letters, digits, - _ and ., a letter or digit first; got %s", MaxAttrName, quote(name))
	}
	return nil
}

// Check returns an *Error if the policies of v and r could meet a request in
// more than MaxScopes scopes.
func (v *View) Check(r *Rule) error {
	scopes := v.scopes()
	if old := v.Get(r.Name); old != nil && old.Scope != r.Scope {
		scopes = v.Delete(r.Name).scopes()
	}
	if !slices.Contains(scopes, r.Scope) && len(scopes) >= MaxScopes {
		return wrong("SCOPE", "must be one of the %d that are in use, as there may be no more: %s; got %s",
			MaxScopes, strings.Join(scopeNames(scopes), ", "), quote(r.Scope))
	}
	return nil
}

func scopeNames(scopes []string) []string {
	all := make([]string, len(scopes))
	for i, scope := range scopes {
		all[i] = fmt.Sprintf("%q", scope)
		if scope == "" {
			all[i] = fmt.Sprintf("%q", DefaultScope)
		}
	}
	return all
}

package commands

// maxPattern is the longest pattern in bytes, and maxPatterns the most in one
// call: matching is bounded by what they multiply to.
const (
	maxPattern  = 512
	maxPatterns = 32
)

// globPattern is a pattern by Redis' rules, ready to be matched: * any bytes,
// ? one byte, [abc] [a-z] [^a] one of a set, \ takes the next byte as it is. A
// set without its end extends to the pattern's.
type globPattern struct {
	elements []globElement
}

// globElement matches one byte, or with any set as many as it takes.
type globElement struct {
	any bool
	set [4]uint64 // a bit for each byte that matches
}

func (e *globElement) add(c byte)          { e.set[c/64] |= 1 << (c % 64) }
func (e *globElement) matches(c byte) bool { return e.set[c/64]&(1<<(c%64)) != 0 }
func (e *globElement) addRange(lo, hi byte) {
	for c := int(lo); c <= int(hi); c++ {
		e.add(byte(c))
	}
}

// compileGlob reads a pattern of at most maxPattern bytes.
func compileGlob(pattern string) (g globPattern, err error) {
	if len(pattern) > maxPattern {
		return g, errorf("a pattern has at most %d bytes, got %d", maxPattern, len(pattern))
	}
	for i := 0; i < len(pattern); {
		var e globElement
		width := 1
		switch c := pattern[i]; {
		case c == '*':
			e.any = true
			if n := len(g.elements); n > 0 && g.elements[n-1].any {
				i++
				continue
			}
		case c == '?':
			e.addRange(0, 255)
		case c == '[':
			width = e.readSet(pattern[i:])
		case c == '\\' && i+1 < len(pattern):
			e.add(pattern[i+1])
			width = 2
		default:
			e.add(c)
		}
		g.elements = append(g.elements, e)
		i += width
	}
	return g, nil
}

// readSet reads [...] and returns how long it is.
func (e *globElement) readSet(pattern string) (width int) {
	i := 1
	negated := i < len(pattern) && pattern[i] == '^'
	if negated {
		i++
	}
	for i < len(pattern) && pattern[i] != ']' {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			i++
			e.add(pattern[i])
		case i+2 < len(pattern) && pattern[i+1] == '-':
			e.addRange(min(pattern[i], pattern[i+2]), max(pattern[i], pattern[i+2]))
			i += 2
		default:
			e.add(pattern[i])
		}
		i++
	}
	if negated {
		for w := range e.set {
			e.set[w] = ^e.set[w]
		}
	}
	return min(i+1, len(pattern))
}

// matches takes at most a step for each element and byte, whatever the pattern.
func (g *globPattern) matches(text []byte) bool {
	p, t := 0, 0
	star, resume := -1, 0 // the last *, and where its match ends for now
	for t < len(text) {
		switch {
		case p < len(g.elements) && g.elements[p].any:
			star, resume = p, t
			p++
		case p < len(g.elements) && g.elements[p].matches(text[t]):
			p++
			t++
		case star < 0:
			return false
		default:
			resume++
			p, t = star+1, resume
		}
	}
	for p < len(g.elements) && g.elements[p].any {
		p++
	}
	return p == len(g.elements)
}

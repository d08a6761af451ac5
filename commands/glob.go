package commands

// glob reports whether text matches a pattern by Redis' rules: * any bytes,
// ? one byte, [abc] [a-z] [^a] one of a set, \ takes the next byte as it is.
// It takes at most len(pattern) x len(text) steps, whatever the pattern.
func glob(pattern string, text []byte) bool {
	p, t := 0, 0
	star, resume := -1, 0 // the last *, and where its match ends for now
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			star, resume = p, t
			p++
			continue
		}
		if p < len(pattern) {
			if width, ok := globByte(pattern[p:], text[t]); ok {
				p += width
				t++
				continue
			}
		}
		if star < 0 {
			return false
		}
		resume++
		p, t = star+1, resume
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// globByte matches one byte against the first element of a pattern, and says
// how long the element is.
func globByte(pattern string, c byte) (width int, ok bool) {
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		return globSet(pattern, c)
	case '\\':
		if len(pattern) > 1 {
			return 2, pattern[1] == c
		}
	}
	return 1, pattern[0] == c
}

// globSet matches [...]; one without its end extends to the pattern's.
func globSet(pattern string, c byte) (width int, ok bool) {
	i := 1
	negated := i < len(pattern) && pattern[i] == '^'
	if negated {
		i++
	}
	for i < len(pattern) && pattern[i] != ']' {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			i++
			ok = ok || pattern[i] == c
		case i+2 < len(pattern) && pattern[i+1] == '-':
			lo, hi := min(pattern[i], pattern[i+2]), max(pattern[i], pattern[i+2])
			ok = ok || lo <= c && c <= hi
			i += 2
		default:
			ok = ok || pattern[i] == c
		}
		i++
	}
	if i < len(pattern) {
		i++
	}
	return i, ok != negated
}

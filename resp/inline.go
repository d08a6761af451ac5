package resp

// splitInline splits a line into words by the rules of Redis' sdssplitargs:
// white space separates; double quotes with \n \r \t \b \a \xHH and \c for any
// other c; single quotes with \' only; a closing quote must be followed by
// white space. ok is false where quotes do not match. The words are copies.
func splitInline(line []byte, words [][]byte) (_ [][]byte, ok bool) {
	i := 0
	for {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return words, true
		}
		word := []byte{}
	scan:
		for {
			if i == len(line) || isSpace(line[i]) || line[i] == 0 {
				break
			}
			switch line[i] {
			case '"':
				word, i, ok = doubleQuoted(line, i+1, word)
			case '\'':
				word, i, ok = singleQuoted(line, i+1, word)
			default:
				word = append(word, line[i])
				i++
				continue scan
			}
			if !ok {
				return nil, false
			}
			break
		}
		words = append(words, word)
		if i < len(line) && line[i] == 0 {
			return words, true // a NUL ends the line, as in C
		}
	}
}

func doubleQuoted(line []byte, i int, word []byte) ([]byte, int, bool) {
	for i < len(line) {
		c := line[i]
		switch {
		case c == '\\' && i+3 < len(line) && line[i+1] == 'x' && isHex(line[i+2]) && isHex(line[i+3]):
			word = append(word, unhex(line[i+2])<<4|unhex(line[i+3]))
			i += 4
		case c == '\\' && i+1 < len(line):
			word = append(word, unescape(line[i+1]))
			i += 2
		case c == '"':
			return word, i + 1, i+1 == len(line) || isSpace(line[i+1])
		case c == 0:
			return nil, i, false
		default:
			word = append(word, c)
			i++
		}
	}
	return nil, i, false
}

func singleQuoted(line []byte, i int, word []byte) ([]byte, int, bool) {
	for i < len(line) {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '\'':
			word = append(word, '\'')
			i += 2
		case line[i] == '\'':
			return word, i + 1, i+1 == len(line) || isSpace(line[i+1])
		case line[i] == 0:
			return nil, i, false
		default:
			word = append(word, line[i])
			i++
		}
	}
	return nil, i, false
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

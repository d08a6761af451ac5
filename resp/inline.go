package resp

// splitInline splits a line into words by the rules of Redis' sdssplitargs:
// white space separates; double quotes with \n \r \t \b \a \xHH and \c for any
// other c; single quotes with \' only; a closing quote must be followed by
// white space. Words without quotes are parts of the line, others copies.
func splitInline(line []byte, words [][]byte, lim *Limits, authenticated bool) ([][]byte, error) {
	for i := 0; ; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return words, nil
		}
		word, next, ok := inlineWord(line, i)
		if !ok {
			return nil, errQuotes
		}
		if len(word) > lim.MaxBulk || len(words) == lim.MaxArgs {
			return nil, errInlineTooBig
		}
		if len(words) == maxArgsStranger && !authenticated {
			return nil, errInlineStranger
		}
		words = append(words, word)
		i = next
	}
}

// inlineWord returns the word that begins at i, and where it ends. A quote
// that closes ends the word.
func inlineWord(line []byte, i int) (word []byte, next int, ok bool) {
	for j := i; j < len(line); j++ {
		switch line[j] {
		case ' ', '\t', '\r', '\n':
			return line[i:j], j, true
		case '"':
			return doubleQuoted(line, j+1, append([]byte{}, line[i:j]...))
		case '\'':
			return singleQuoted(line, j+1, append([]byte{}, line[i:j]...))
		}
	}
	return line[i:], len(line), true
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
			return word, i + 1, closes(line, i)
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
			return word, i + 1, closes(line, i)
		default:
			word = append(word, line[i])
			i++
		}
	}
	return nil, i, false
}

// closes says whether the quote at i may end a word.
func closes(line []byte, i int) bool { return i+1 == len(line) || isSpace(line[i+1]) }

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

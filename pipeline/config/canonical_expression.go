package config

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// canonicalExpr returns an expression in canonical form: without comments, and with uniform spaces between its tokens.
func canonicalExpr(src string) string {
	var b strings.Builder
	previous := ""
	for rest := src; rest != ""; {
		var token string
		token, rest = cutToken(rest)
		if token == "" {
			continue // space or a comment
		}
		if previous != "" && needsSpace(previous, token) {
			b.WriteByte(' ')
		}
		b.WriteString(token)
		previous = token
	}
	return b.String()
}

// needsSpace reports whether the canonical form has a space between two tokens.
func needsSpace(left, right string) bool {
	if slices.Contains([]string{"(", "[", ".", "!"}, left) || slices.Contains([]string{")", "]", ",", "."}, right) {
		return false
	}
	isCallOrIndex := (right == "(" || right == "[") && endsOperand(left)
	return !isCallOrIndex
}

// endsOperand reports whether the token is the end of an operand: a name, a literal, or a closing bracket.
func endsOperand(token string) bool {
	switch token[0] {
	case ')', ']', '"', '\'':
		return true
	}
	return inWord(token[0]) && token != "in"
}

// longOperators are the operators of two characters.
var longOperators = []string{"==", "!=", "<=", ">=", "&&", "||"}

// cutToken cuts the first token from an expression. The token is "" if the expression begins with space or a comment.
func cutToken(s string) (token, rest string) {
	end := 1
	switch {
	case strings.IndexByte(" \t\r\n\f", s[0]) >= 0:
		return "", s[1:]
	case strings.HasPrefix(s, "//"):
		_, rest, _ = strings.Cut(s, "\n")
		return "", rest
	case inWord(s[0]):
		end = wordLength(s)
	case s[0] == '"' || s[0] == '\'':
		end = quotedLength(s, false)
	case len(s) > 1 && slices.Contains(longOperators, s[:2]):
		end = 2
	}
	return s[:end], s[end:]
}

// wordLength returns the length of the word at the beginning of s. If the word is the prefix of a string literal, the
// literal is included.
func wordLength(s string) int {
	isOutside := func(r rune) bool { return r < utf8.RuneSelf && !inWord(byte(r)) }
	end := strings.IndexFunc(s, isOutside)
	if end < 0 {
		return len(s)
	}
	word, isBeforeQuote := s[:end], s[end] == '"' || s[end] == '\''
	if isBeforeQuote && strings.Trim(word, "rRbB") == "" {
		return end + quotedLength(s[end:], strings.ContainsAny(word, "rR"))
	}
	return end
}

// quotedLength returns the length of the string literal at the beginning of s. If isRaw is true, a \ escapes nothing.
func quotedLength(s string, isRaw bool) int {
	quote := s[:1]
	if strings.HasPrefix(s, strings.Repeat(quote, 3)) {
		quote = s[:3]
	}
	for i := len(quote); i < len(s); i++ {
		if s[i] == '\\' && !isRaw {
			i++ // skip the escaped character
		} else if strings.HasPrefix(s[i:], quote) {
			return i + len(quote)
		}
	}
	return len(s)
}

// inWord reports whether a name or a number may contain the byte.
func inWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b >= 0x80
}

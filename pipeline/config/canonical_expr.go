package config

import (
	"slices"
	"strings"
)

// canonicalExpr returns an expression in canonical form: without comments, and with uniform spaces between its tokens.
func canonicalExpr(src string) string {
	var b strings.Builder
	previous := ""
	for rest := src; rest != ""; {
		var token string
		token, rest = cutToken(rest)
		if token == "" {
			continue
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
func needsSpace(a, b string) bool {
	switch {
	case slices.Contains([]string{")", "]", ",", "."}, b), slices.Contains([]string{"(", "[", ".", "!"}, a):
		return false
	case b == "(" || b == "[": // a call or an index has no space before it
		return a == "in" || !inWord(a[0]) && a != ")" && a != "]" && a[0] != '"' && a[0] != '\''
	}
	return true
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
		for end < len(s) && inWord(s[end]) {
			end++
		}
		if end < len(s) && (s[end] == '"' || s[end] == '\'') && strings.Trim(s[:end], "rRbB") == "" {
			end += quotedLength(s[end:], strings.ContainsAny(s[:end], "rR"))
		}
	case s[0] == '"' || s[0] == '\'':
		end = quotedLength(s, false)
	case len(s) > 1 && slices.Contains(longOperators, s[:2]):
		end = 2
	}
	return s[:end], s[end:]
}

// quotedLength returns the length of the string literal at the beginning of s.
func quotedLength(s string, raw bool) int {
	mark := s[:1]
	if strings.HasPrefix(s, strings.Repeat(mark, 3)) {
		mark = s[:3]
	}
	for i := len(mark); i < len(s); i++ {
		switch {
		case s[i] == '\\' && !raw:
			i++
		case strings.HasPrefix(s[i:], mark):
			return i + len(mark)
		}
	}
	return len(s)
}

// inWord reports whether a name or a number may contain the byte.
func inWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b >= 0x80
}

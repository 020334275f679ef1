package ddbjson

import "strconv"

// IsBare reports whether a name needs no quotes in a path.
func IsBare(name string) bool {
	for i := range len(name) {
		if !BareNameByte(name[i], i == 0) {
			return false
		}
	}
	return name != ""
}

// AppendMember appends a map's member to the text of a path.
func AppendMember(path []byte, name string) []byte {
	if !IsBare(name) {
		path = append(path, '[')
		path = strconv.AppendQuote(path, name)
		return append(path, ']')
	}
	if len(path) > 0 {
		path = append(path, '.')
	}
	return append(path, name...)
}

// AppendElement appends a list's element to the text of a path.
func AppendElement(path []byte, i int) []byte {
	path = append(path, '[')
	path = strconv.AppendInt(path, int64(i), 10)
	return append(path, ']')
}

// BareNameByte tells whether b may stand in a name without quotes.
func BareNameByte(b byte, first bool) bool {
	return b == '_' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || !first && '0' <= b && b <= '9'
}

package dir

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The path of an object is built from its name, segment by segment, and can be converted back. "~" begins an escape:
//
//	~7E  a byte that some file systems refuse
//	~0   an empty segment, as in a//b
//	~c   ends a folder that holds the beginning of a long segment
//	~d   ends a folder that is named like a file (x.json)
//	~f   ends a file that is named like a folder (x)

// maxSegment is the largest length of a path segment: file systems allow 255 bytes.
const maxSegment = 200

// pathOf returns the relative path of an object.
func pathOf(name string) string {
	segments := strings.Split(name, "/")
	var path []string
	for i, segment := range segments {
		text := escapeSegment(segment)
		switch last := i == len(segments)-1; {
		case last && !fileLike(text):
			text += "~f"
		case !last && fileLike(text):
			text += "~d"
		}
		for len(text) > maxSegment {
			cut := maxSegment
			if tilde := strings.LastIndexByte(text[cut-2:cut], '~'); tilde >= 0 {
				cut += tilde - 2 // do not cut an escape
			}
			path = append(path, text[:cut]+"~c")
			text = text[cut:]
		}
		path = append(path, text)
	}
	return filepath.Join(path...)
}

// fileLike reports whether escaped text ends like the name of an archived object.
func fileLike(text string) bool {
	return slices.ContainsFunc([]string{".json", ".zst", ".gz", ".parquet"},
		func(end string) bool { return strings.HasSuffix(text, end) })
}

func escapeSegment(s string) string {
	if s == "" {
		return "~0"
	}
	// A cut could leave only the dots of a long segment as a segment of their own, so dots are escaped.
	dots := strings.Trim(s, ".") == "" || len(s) > maxSegment-2
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7F || strings.IndexByte(`~\:*?"<>|`, c) >= 0 || c == '.' && dots {
			fmt.Fprintf(&b, "~%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// nameOf is the inverse of pathOf.
func nameOf(path string) (string, error) {
	var name strings.Builder
	joined := false // the part of the path continues the segment of the last part
	for i, part := range strings.Split(filepath.ToSlash(path), "/") {
		if i > 0 && !joined {
			name.WriteByte('/')
		}
		part, joined = strings.CutSuffix(part, "~c")
		if !writeUnescaped(&name, part) {
			return "", errs.Errorf("%s is not the path of an object: the folder holds files of others", path)
		}
	}
	return name.String(), nil
}

// writeUnescaped writes the text of an escaped part of a path. It returns false if the part is no escaped text.
func writeUnescaped(name *strings.Builder, part string) bool {
	for part != "" {
		text, escape, hasEscape := strings.Cut(part, "~")
		name.WriteString(text)
		isEnd := !hasEscape || escape == "0" || escape == "d" || escape == "f" || escape == "0~f"
		if isEnd {
			break
		}
		if len(escape) < 2 {
			return false
		}
		b, err := strconv.ParseUint(escape[:2], 16, 8)
		if err != nil {
			return false
		}
		name.WriteByte(byte(b))
		part = escape[2:]
	}
	return true
}

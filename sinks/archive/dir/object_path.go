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
		isFile := i == len(segments)-1
		if isFile && !fileLike(text) {
			text += "~f"
		}
		if !isFile && fileLike(text) {
			text += "~d"
		}
		path = append(path, cutSegment(text)...)
	}
	return filepath.Join(path...)
}

// cutSegment cuts an escaped segment into parts that file systems allow.
func cutSegment(text string) (parts []string) {
	for len(text) > maxSegment {
		end := maxSegment
		if tilde := strings.LastIndexByte(text[:end], '~'); tilde >= end-2 {
			end = tilde // do not cut an escape
		}
		parts = append(parts, text[:end]+"~c")
		text = text[end:]
	}
	return append(parts, text)
}

// fileLike reports whether escaped text ends like the name of an archived object.
func fileLike(text string) bool {
	return slices.ContainsFunc([]string{".json", ".zst", ".gz", ".parquet"},
		func(end string) bool { return strings.HasSuffix(text, end) })
}

// escapeSegment escapes the bytes of a segment that some file systems refuse.
func escapeSegment(segment string) string {
	if segment == "" {
		return "~0"
	}
	// Dots of a long segment are escaped, because a cut could leave a part that consists of dots alone.
	escapesDots := strings.Trim(segment, ".") == "" || len(segment) > maxSegment-2
	var b strings.Builder
	for i := range len(segment) {
		c := segment[i]
		isRefused := c <= ' ' || c >= 0x7F || strings.IndexByte(`~\:*?"<>|`, c) >= 0
		if isRefused || escapesDots && c == '.' {
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
	joined := false // this part continues the segment of the part before
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

// writeUnescaped writes the text of an escaped part of a path. It returns false if the part is not an escaped text.
func writeUnescaped(name *strings.Builder, part string) bool {
	for part != "" {
		text, escape, hasEscape := strings.Cut(part, "~")
		name.WriteString(text)
		// ~0, ~d and ~f have no text. An empty segment that is a file is ~0~f.
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

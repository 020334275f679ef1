package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/template"
)

// Fingerprints is the folder of a store's own objects, such as fingerprints. No archived object has a
// name with this folder.
const Fingerprints = ".~fingerprints"

// Folder returns the constant folder of the names of an archive's objects, "" or ending in "/". key may be nil.
func Folder(prefix string, key *template.Template) string {
	if key != nil {
		literal, _ := key.Prefix()
		prefix += literal
	}
	folder, _ := path.Split(prefix)
	return folder
}

// Names must be valid on every server with the S3 API, and as file paths:
// no segment is empty, "." or "..", or longer than 255 bytes. Values are escaped
// ([template.Template.AppendObjectKey]) and contain neither "/" nor "~". So it is enough to check the
// literals once. Long names are shortened such that different names stay
// different.
const (
	longSegment = 254 // a shortened segment has 255 bytes, one more than any other
	longName    = 800 // S3 allows 1,024 bytes; the last part of a log object's name has 150
)

// shortenName returns name. If a segment or the name is too long, its end is replaced by a
// digest. A shortened segment has a length of its own. A shortened name
// ends in a segment that begins with "~".
func shortenName(name string) string {
	if len(name) <= longSegment {
		return name
	}
	segments := strings.Split(name, "/")
	for i, s := range segments {
		if len(s) > longSegment {
			segments[i] = s[:longSegment-64] + "~" + digest(s)
		}
	}
	short := strings.Join(segments, "/")
	if len(short) <= longName {
		return short
	}
	begin := short[:longName-65]
	return begin[:strings.LastIndexByte(begin, '/')+1] + "~" + digest(name)
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// checkName returns an error if the literal part of names is invalid: a prefix followed by
// a template. option names both.
func checkName(option, prefix string, t *template.Template, end string) error {
	name := prefix
	if t != nil {
		name += strings.Join(t.Literals(), "x") // values are never empty
	}
	name += end
	problem := nameProblem(name)
	if problem == "" && len(prefix) > longName/2 {
		problem = fmt.Sprintf("is longer than %d bytes", longName/2)
	}
	if problem == "" {
		return nil
	}
	return fmt.Errorf("archive: %s %q %s", option, strings.TrimSuffix(name, end), problem)
}

// nameProblem returns what is wrong with a name; "" if a server and a file system can hold it once it is shortened. The
// text has no part of the name.
func nameProblem(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7F }):
		return "holds a control character"
	case strings.Contains(name, `\`):
		return `holds a \: folders are parted by /`
	}
	for i, s := range strings.Split(name, "/") {
		switch {
		case s == "" && i == 0:
			return "begins with /: object names do not"
		case s == "":
			return "has a segment without text: write one / between two segments, and none at the end"
		case s == "." || s == "..":
			return "has the segment " + s + ", which is not kept by every server"
		case s[0] == '~' || s == Fingerprints:
			return "has a segment that begins with ~ or is " + Fingerprints + ": these are the archive's own"
		}
	}
	return ""
}

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

// Fingerprints is the folder of a store's own objects, such as fingerprints. No archived object has a name with this
// folder.
const Fingerprints = ".~fingerprints"

// Folder returns the constant folder of the names of an archive's objects; "" or ending in "/". key may be nil.
func Folder(prefix string, key *template.Template) string {
	if key != nil {
		literal, _ := key.Prefix()
		prefix += literal
	}
	folder, _ := path.Split(prefix)
	return folder
}

// A segment of a name is a part between two slashes. Names must be valid on every server with the S3 API, and as file
// paths. So no segment is empty, "." or "..", or longer than 255 bytes.
//
// Values are escaped ([template.Template.AppendObjectKey]), and contain neither "/" nor "~". So it is enough to check
// the literals once. Long names are shortened so that different names stay different.
const (
	longSegment = 254 // a shortened segment has 255 bytes; all other segments are shorter
	longName    = 800 // S3 allows 1,024 bytes; the last part of a log object's name has 150
)

// shortenName returns name with long ends replaced by digests. A segment that is too long gets a digest, and then has
// 255 bytes, unlike any other segment. A name that is still too long gets a last segment with "~" and a digest.
func shortenName(name string) string {
	if len(name) <= longSegment {
		return name
	}
	segments := strings.Split(name, "/")
	for i, segment := range segments {
		if len(segment) > longSegment {
			segments[i] = shortenSegment(segment)
		}
	}
	short := strings.Join(segments, "/")
	if len(short) <= longName {
		return short
	}
	folder, _ := path.Split(short[:longName-65])
	return folder + "~" + digest(name)
}

// shortenSegment replaces the end of a segment by a digest. The result is UTF-8 if the segment is, and has 255 bytes.
func shortenSegment(segment string) string {
	end := longSegment - 64
	for end > 0 && !utf8.RuneStart(segment[end]) {
		end--
	}
	return segment[:end] + strings.Repeat("~", longSegment-63-end) + digest(segment)
}

// digest returns the SHA-256 of a text in hex digits.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// checkName returns an error if the literal parts of names are invalid. A name is prefix, the text of the template t,
// and end. option names the options of prefix and t in the error.
func checkName(option, prefix string, t *template.Template, end string) error {
	name := prefix
	if t != nil {
		name += strings.Join(t.Literals(), "x") // values are never empty, so x takes the place of a value
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

// nameProblem returns the reason why a name is invalid. It returns "" if a server and a file system can hold the name
// after it is shortened. The reason does not contain text of the name.
func nameProblem(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7F }):
		return "holds a control character"
	case strings.Contains(name, `\`):
		return `holds a \: folders are separated by /`
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

package archive

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/template"
)

// TagTemplate is a tag that every object gets, with a value from a template.
type TagTemplate struct {
	Key   string
	Value *template.Template // with Log only text and {@table}, because a log object has changes of many items
}

// Limits of S3 (Using object tags, Amazon S3 User Guide).
const (
	maxTags     = 10
	maxTagKey   = 128
	maxTagValue = 256
)

// checkTags returns an error if the objects of a layout cannot have the tags.
func checkTags(tags []TagTemplate, layout Layout) error {
	if len(tags) > maxTags {
		return fmt.Errorf("archive: Tags: an object takes %d tags, and these are %d", maxTags, len(tags))
	}
	seen := make(map[string]bool)
	for _, t := range tags {
		switch {
		case seen[t.Key]:
			return fmt.Errorf("archive: Tags: %q is there twice", t.Key)
		case !isTagKey(t.Key):
			return fmt.Errorf(
				"archive: Tags: %q is not a key of a tag: 1 to %d letters, digits, spaces and + - = . _ : / @, not beginning with aws:", t.Key, maxTagKey)
		case t.Value == nil:
			return fmt.Errorf("archive: Tags: the template of %q is nil", t.Key)
		case layout == Log && !t.Value.OfTable():
			return fmt.Errorf(
				"archive: Tags: %s: %q differs from change to change, and an object of the layout %q holds many: write text and {@table} only, or take the layout %q", t.Key, t.Value, Log, PerItem)
		}
		seen[t.Key] = true
	}
	return nil
}

// isTagKey reports whether S3 allows the key of a tag.
func isTagKey(key string) bool {
	hasOtherRunes := strings.ContainsFunc(key, func(r rune) bool { return !allowedInTag(r) })
	return key != "" && utf8.RuneCountInString(key) <= maxTagKey && !hasOtherRunes && !strings.HasPrefix(key, "aws:")
}

// tagsOf returns the tags for the object of a change. It leaves out tags whose value is missing.
func (s *Sink) tagsOf(scope template.Scope) ([]Tag, error) {
	if len(s.o.Tags) == 0 {
		return nil, nil
	}
	tags := make([]Tag, 0, len(s.o.Tags))
	for _, t := range s.o.Tags {
		text, missing, err := t.Value.AppendText(nil, scope)
		if err != nil {
			return nil, fmt.Errorf("archive: tag %s: %w", t.Key, err)
		}
		if missing == "" && len(text) > 0 {
			tags = append(tags, Tag{t.Key, tagText(string(text))})
		}
	}
	return tags, nil
}

// tagText returns text in the alphabet of tags, so that different texts stay different. Each byte of another character,
// and of "=", becomes "=" and two hex digits. A text that is too long is cut, and ends in "==" and a digest.
func tagText(text string) string {
	var b strings.Builder
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r != '=' && allowedInTag(r) {
			b.WriteRune(r)
		} else {
			for _, c := range []byte(rest[:size]) {
				fmt.Fprintf(&b, "=%02X", c)
			}
		}
		rest = rest[size:]
	}
	escaped := b.String()
	if utf8.RuneCountInString(escaped) <= maxTagValue {
		return escaped
	}
	return string([]rune(escaped)[:maxTagValue-66]) + "==" + digest(text)
}

// allowedInTag reports whether S3 allows r in a tag.
func allowedInTag(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" +-=._:/@", r)
}

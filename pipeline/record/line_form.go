package record

import (
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// lineForm is the form of a line.
type lineForm uint8

const (
	itemForm     lineForm = iota // {"Item":{...}}: a full export
	changeForm                   // {"Metadata":{...},"Keys":{...},...}: an incremental export
	bareItemForm                 // the item itself
)

// checkLineStart returns an error if no JSON object starts at i. A member of JSON begins with a quote, and a field of
// Amazon Ion with a letter or an underscore.
func (r *recordReader) checkLineStart(i int) error {
	if strings.HasPrefix(ddbjson.View(r.Input[i:]), "$ion") {
		return errIon
	}
	if r.Peek(i) != '{' {
		return errLine
	}
	first := r.Peek(r.SkipSpace(i + 1))
	isLetter := 'a' <= first|0x20 && first|0x20 <= 'z'
	if isLetter || first == '_' {
		return errIon
	}
	return nil
}

// lineFormAt returns the form of the object at i. An item can have attributes with the names of an export's fields,
// such as Item, so the name alone does not decide. The first value decides: a field of an export contains attributes,
// and an attribute contains a type tag.
func (r *recordReader) lineFormAt(i int) lineForm {
	i = r.SkipSpace(i + 1)
	if r.Peek(i) != '"' {
		return bareItemForm
	}
	name, at := r.Field(i)
	if at < 0 || r.isLocalEmptyMap(at) {
		return bareItemForm
	}
	switch {
	case string(name) == "Item" && r.hasAttributes(at):
		return itemForm
	case lineNames[string(name)] != fieldOther && r.hasAttributes(at):
		return changeForm
	}
	return bareItemForm
}

// isLocalEmptyMap reports whether the value at i is {}, the empty map of DynamoDB Local.
func (r *recordReader) isLocalEmptyMap(i int) bool {
	return r.AllowEmptyMaps && r.Peek(i) == '{' && r.Peek(r.SkipSpace(i+1)) == '}'
}

// hasAttributes reports whether the value at i is an object with attributes, {NAME:{TAG:...}}. It returns false for an
// attribute value, {TAG:...}. It returns true for null. It also returns true if it cannot read the object, so that the
// reader reads it as a field of an export and reports the error with its path.
func (r *recordReader) hasAttributes(i int) bool {
	switch r.Peek(i) {
	case 'n':
		return true
	case '{':
		return !r.isAttributeValue(i)
	}
	return false
}

// isAttributeValue reports whether the object at i is an attribute value. It reads only as much as it needs to know. It
// returns false if it cannot read that.
func (r *recordReader) isAttributeValue(i int) bool {
	i = r.SkipSpace(i + 1)
	if r.Peek(i) != '"' {
		return false
	}
	name, at := r.Field(i)
	if at < 0 {
		return false
	}
	tag := ddbjson.TagOf(name)
	if tag == ddbjson.NoTag {
		return false
	}
	if r.Peek(at) != '{' { // an attribute would be an object
		return true
	}
	next := r.SkipValue(at)
	if next < 0 {
		return false
	}
	_, hasOneTag := r.Separator(next, '}')
	return hasOneTag && tag == ddbjson.TagM && r.hasAttributes(at) // only the content of an M is an object
}

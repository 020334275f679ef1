package initconfig

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
)

const (
	maxAttributes = 100 // an entity with more attributes is written without them
	maxMembers    = 40  // a map with more members is declared without them
)

// sampleOf returns the attributes of the items, with the types that each attribute has.
func sampleOf(items []item.Image) *entity.Sampled {
	s := &entity.Sampled{}
	for _, m := range items {
		s.Add(m.Value())
	}
	return s
}

// memberNamePattern matches names as programs declare them. Values that an item uses as names usually do not match,
// such as 2026-01-31.
var memberNamePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z_-]*[0-9]?$`)

// isStructure reports whether s samples maps with fixed member names, as a program declares them. In other maps the
// names are values of items, such as dates or ids. A structure has few names, and each name is in at least a fifth of
// the maps.
func isStructure(s *entity.Sampled) bool {
	if len(s.Members) == 0 || len(s.Members) > maxMembers {
		return false
	}
	mapCount := s.Kinds[item.KindM]
	if mapCount == 1 && len(s.Members) > 8 {
		return false
	}
	for name, m := range s.Members {
		isRare := mapCount > 1 && m.Count()*5 < mapCount
		if isRare || !memberNamePattern.MatchString(name) {
			return false
		}
	}
	return true
}

// declaredType returns the type of a sampled attribute as the configuration declares it, such as [S] for a list of
// strings.
func declaredType(s *entity.Sampled) string {
	anyType := item.KindNULL.String() // in expressions
	kind := s.Kind()
	switch {
	case kind == item.Absent:
		return anyType
	case kind == item.KindM && isStructure(s):
		return declaredMembers(s)
	case kind == item.KindL && s.Elem != nil:
		if elemType := declaredType(s.Elem); elemType != anyType {
			return "[" + elemType + "]"
		}
	}
	return kind.String()
}

// declaredMembers returns the members of a map with their types, as in {Name: S, Total: N}. It leaves out the members
// in except.
func declaredMembers(s *entity.Sampled, except ...string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.Members)) {
		if !slices.Contains(except, name) {
			parts = append(parts, yamlScalar(name)+": "+declaredType(s.Members[name]))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// yamlScalar returns a text as a YAML scalar that is valid between braces. It quotes the text if necessary.
func yamlScalar(text string) string {
	if !plainScalarPattern.MatchString(text) {
		return yamlbind.Quoted(text)
	}
	var v any
	err := yaml.Unmarshal([]byte(text), &v)
	if _, isText := v.(string); err != nil || !isText { // such as true
		return yamlbind.Quoted(text)
	}
	return text
}

var plainScalarPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// sensitiveWords are words in typical names of private attributes. A word of more than four letters is also found
// inside a longer word, such as email in useremail.
var sensitiveWords = []string{
	"email", "mail", "phone", "mobile", "password", "passwd", "secret", "token", "apikey", "ssn", "iban", "bankaccount",
	"cardnumber", "creditcard", "cvv", "cvc", "passport", "birth", "dob", "firstname", "lastname", "fullname", "surname",
	"taxid", "ipaddress", "address",
}

// looksSensitive reports whether a name is typical of a private attribute.
func looksSensitive(name string) bool {
	words := wordsOf(name)
	joined := strings.Join(words, "")
	for _, word := range sensitiveWords {
		isLong := len(word) > 4
		if slices.Contains(words, word) || isLong && strings.Contains(joined, word) {
			return true
		}
	}
	return false
}

// The boundaries between two words without a separator: in cardNumber, and in SSNHash.
var (
	beforeCapital  = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	beforeLastWord = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
)

// wordsOf returns the words of a name in lower case. They are card and number for cardNumber, CardNumber, CARD_NUMBER
// and card-number2.
func wordsOf(name string) []string {
	name = beforeLastWord.ReplaceAllString(name, "$1 $2")
	name = beforeCapital.ReplaceAllString(name, "$1 $2")
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
}

// sensitivePaths returns the paths of the attributes and members whose names look sensitive. It leaves out the key
// attributes.
func sensitivePaths(items *entity.Sampled, keys []string) (paths []string) {
	for _, name := range slices.Sorted(maps.Keys(items.Members)) {
		if !slices.Contains(keys, name) {
			paths = append(paths, pathsIn(items.Members[name], name, item.PathText([]string{name}))...)
		}
	}
	return paths
}

// pathsIn returns the path of an attribute if its name looks sensitive. Otherwise it returns the paths of the
// attribute's members whose names do.
func pathsIn(s *entity.Sampled, name, path string) (paths []string) {
	isMap := s.Kind() == item.KindM
	isListOfMaps := s.Kind() == item.KindL && s.Elem != nil && s.Elem.Kind() == item.KindM
	switch {
	case looksSensitive(name) && isMap:
		return []string{path + ".**"}
	case looksSensitive(name):
		return []string{path}
	case isListOfMaps:
		s, path = s.Elem, path+"[*]"
	case !isMap:
		return nil
	}
	if !isStructure(s) {
		return nil
	}
	for _, member := range slices.Sorted(maps.Keys(s.Members)) {
		step := item.PathText([]string{"x", member})[1:] // .NAME or ["NAME"]
		paths = append(paths, pathsIn(s.Members[member], member, path+step)...)
	}
	return paths
}

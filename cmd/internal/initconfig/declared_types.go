package initconfig

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
)

const (
	maxAttributes = 100 // a kind with more attributes is written without them
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
	n := s.Kinds[item.KindM]
	for name, m := range s.Members {
		if !memberNamePattern.MatchString(name) || n > 1 && m.Count()*5 < n || n == 1 && len(s.Members) > 8 {
			return false
		}
	}
	return true
}

// declaredType returns the type of a sampled attribute as the configuration declares it, such as [S] for a list of
// strings.
func declaredType(s *entity.Sampled) string {
	switch k := s.Kind(); {
	case k == item.KindL && s.Elem != nil:
		if inside := declaredType(s.Elem); inside != item.KindNULL.String() {
			return "[" + inside + "]"
		}
		return k.String()
	case k == item.KindM && isStructure(s):
		return declaredMembers(s)
	case k == item.Absent:
		return item.KindNULL.String() // NULL is any type in expressions
	default:
		return k.String()
	}
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
	if plainScalarPattern.MatchString(text) {
		var v any
		if yaml.Unmarshal([]byte(text), &v) == nil {
			if _, isText := v.(string); isText {
				return text
			}
		}
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

var plainScalarPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// sensitiveWords are words in typical names of private attributes. A word of more than four letters is also found
// inside a longer word, such as email in useremail.
var sensitiveWords = []string{
	"email", "mail", "phone", "mobile", "password", "passwd", "secret", "token", "apikey", "ssn", "iban", "bankaccount",
	"cardnumber",
	"creditcard", "cvv", "cvc", "passport", "birth", "dob", "firstname", "lastname", "fullname", "surname", "taxid",
	"ipaddress", "address",
}

// looksSensitive reports whether a name is typical of a private attribute.
func looksSensitive(name string) bool {
	words := wordsOf(name)
	joined := strings.Join(words, "")
	return slices.ContainsFunc(sensitiveWords, func(word string) bool {
		return slices.Contains(words, word) || len(word) > 4 && strings.Contains(joined, word)
	})
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

// appendSensitivePaths appends to paths the path of each attribute in s that looks sensitive. before is the path of s,
// and "" at the top, where keys are left out.
func appendSensitivePaths(s *entity.Sampled, before string, keys []string, paths []string) []string {
	for _, name := range slices.Sorted(maps.Keys(s.Members)) {
		path := item.PathText([]string{name})
		if before != "" {
			path = item.PathText([]string{"x", name})[1:]
			path = before + path
		}
		m := s.Members[name]
		switch {
		case before == "" && slices.Contains(keys, name):
		case looksSensitive(name) && m.Kind() == item.KindM:
			paths = append(paths, path+".**")
		case looksSensitive(name):
			paths = append(paths, path)
		case m.Kind() == item.KindM && isStructure(m):
			paths = appendSensitivePaths(m, path, nil, paths)
		case m.Kind() == item.KindL && m.Elem != nil && m.Elem.Kind() == item.KindM && isStructure(m.Elem):
			paths = appendSensitivePaths(m.Elem, path+"[*]", nil, paths)
		}
	}
	return paths
}

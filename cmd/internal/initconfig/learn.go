package initconfig

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/item"
)

const (
	maxAttributes = 100    // names of an item that are written
	maxLearned    = 10_000 // names of an item or a map that are looked at
	maxMembers    = 40     // names of a map that are written
)

// stat is what values at one path are.
type stat struct {
	kinds   map[item.Kind]int
	members map[string]*stat // of the M values
	elem    *stat            // of the L values
}

func newStat() *stat { return &stat{kinds: make(map[item.Kind]int), members: make(map[string]*stat)} }

func (s *stat) add(v item.Value) {
	s.kinds[v.Kind()]++
	switch v.Kind() {
	case item.KindM:
		for name, inside := range v.Members() {
			if s.members[name] == nil {
				if len(s.members) >= maxLearned {
					continue
				}
				s.members[strings.Clone(name)] = newStat()
			}
			s.members[name].add(inside)
		}
	case item.KindL:
		for _, inside := range v.Elements() {
			if s.elem == nil {
				s.elem = newStat()
			}
			s.elem.add(inside)
		}
	}
}

// statOf returns what the items are.
func statOf(items []item.Image) *stat {
	s := newStat()
	for _, m := range items {
		s.add(m.Value())
	}
	return s
}

// kind returns the type of the values; NULL, which is any type in expressions, if they have several.
func (s *stat) kind() item.Kind {
	kinds := maps.Clone(s.kinds)
	delete(kinds, item.KindNULL)
	if len(kinds) != 1 {
		return item.KindNULL
	}
	for k := range kinds {
		return k
	}
	return item.KindNULL
}

// memberName is the form of a name that a program has, and no value of an item.
var memberName = regexp.MustCompile(`^[A-Za-z_][A-Za-z_-]*[0-9]?$`)

// structured reports whether the names of a map are those of a structure, and not values of items, as dates or ids are: few
// names, each in many of the maps.
func (s *stat) structured() bool {
	if len(s.members) == 0 || len(s.members) > maxMembers {
		return false
	}
	n := s.kinds[item.KindM]
	for name, m := range s.members {
		seen := 0
		for _, count := range m.kinds {
			seen += count
		}
		if !memberName.MatchString(name) || n > 1 && seen*5 < n || n == 1 && len(s.members) > 8 {
			return false
		}
	}
	return true
}

// shape returns the type as the file declares it.
func (s *stat) shape() string {
	switch k := s.kind(); {
	case k == item.KindL && s.elem != nil:
		if inside := s.elem.shape(); inside != item.KindNULL.String() {
			return "[" + inside + "]"
		}
		return k.String()
	case k == item.KindM && s.structured():
		return s.attributes()
	default:
		return k.String()
	}
}

// attributes returns the members with their types.
func (s *stat) attributes() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		parts = append(parts, scalar(name)+": "+s.members[name].shape())
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// scalar returns a text as a YAML scalar in braces.
func scalar(text string) string {
	if plainScalar.MatchString(text) {
		var v any
		if yaml.Unmarshal([]byte(text), &v) == nil {
			if _, isText := v.(string); isText {
				return text
			}
		}
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

var plainScalar = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// sensitiveWords are words in names that people give to what is private. One of more than four letters is also found inside
// a longer word, as in useremail.
var sensitiveWords = []string{
	"email", "mail", "phone", "mobile", "password", "passwd", "secret", "token", "apikey", "ssn", "iban", "bankaccount", "cardnumber",
	"creditcard", "cvv", "cvc", "passport", "birth", "dob", "firstname", "lastname", "fullname", "surname", "taxid", "ipaddress", "address",
}

// looksSensitive reports whether a name is one that people give to what is private.
func looksSensitive(name string) bool {
	words := wordsOf(name)
	joined := strings.Join(words, "")
	return slices.ContainsFunc(sensitiveWords, func(word string) bool {
		return slices.Contains(words, word) || len(word) > 4 && strings.Contains(joined, word)
	})
}

// The places between two words that no other character parts: in cardNumber, and in SSNHash.
var (
	beforeCapital  = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	beforeLastWord = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
)

// wordsOf returns the words of a name in lower case: card and number of cardNumber, CardNumber, CARD_NUMBER and card-number2.
func wordsOf(name string) []string {
	name = beforeLastWord.ReplaceAllString(name, "$1 $2")
	name = beforeCapital.ReplaceAllString(name, "$1 $2")
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
}

// sensitive adds the paths of what looks sensitive, except keys.
func (s *stat) sensitive(before string, keys []string, paths []string) []string {
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		path := item.PathText([]string{name})
		if before != "" {
			path = item.PathText([]string{"x", name})[1:]
			path = before + path
		}
		m := s.members[name]
		switch {
		case before == "" && slices.Contains(keys, name):
		case looksSensitive(name) && m.kind() == item.KindM:
			paths = append(paths, path+".**")
		case looksSensitive(name):
			paths = append(paths, path)
		case m.kind() == item.KindM && m.structured():
			paths = m.sensitive(path, nil, paths)
		case m.kind() == item.KindL && m.elem != nil && m.elem.kind() == item.KindM && m.elem.structured():
			paths = m.elem.sensitive(path+"[*]", nil, paths)
		}
	}
	return paths
}

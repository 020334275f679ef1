package config

import "regexp"

// shape is what may stand at a place of the file.
type shape uint8

const (
	textShape       shape = iota // any text, or that of a pattern
	wordShape                    // one of a few words
	pathShape                    // of an attribute: Address.City
	patternShape                 // a path with [*] and .**
	templateShape                // compiled to *template.Template
	itemExprShape                // compiled to *expr.Item
	changeExprShape              // compiled to *expr.Change
	integerShape                 // int64, not below least
	numberShape                  // exact: pipeline.Decimal
	booleanShape
	sizeShape     // int64, bytes
	durationShape // time.Duration
	scalarShape   // text, a number or a boolean: its text
	objectShape   // known keys
	mapShape      // names of the user's own
	listShape     // not empty
	eitherShape   // one of the alternatives, chosen by what YAML made of it
	anyShape      // whatever the user's own code wants
)

// rule describes one place of the file. The strict walk and the JSON Schema read it.
type rule struct {
	shape   shape
	ref     string         // name under $defs, for a rule that is used in several places
	like    *regexp.Regexp // text: must match
	likes   string         // what like asks for, in words
	words   []string
	least   int64   // integers: smallest; lists and maps: fewest entries
	most    int64   // integers: largest; 0: any
	keys    []key   // of objects
	oneOf   []group // of objects
	elem    *rule   // of lists and maps
	names   *rule   // of a map's names; nil: any text
	scalar  *rule   // eitherShape: where a scalar stands
	object  *rule   // eitherShape: where a mapping stands
	ordered bool    // of a map: the order of names means something
	each    bool    // templates: {each.path} is allowed
	secret  bool    // text: never shown in messages
}

// key is one key of an object.
type key struct {
	name      string
	rule      *rule
	doc       string // one sentence, for the schema
	def       string // what a missing key means, as it would be written
	required  bool
	tuning    bool // does not shape outputs: left out of hash and settings
	place     bool // where the output is, beside which its settings are kept: left out of them
	elsewhere bool // comes into the settings by what it does to others
}

// group is a set of keys of which one stands, or at most one.
type group struct {
	keys     []string
	optional bool // none is fine too
}

func text() *rule       { return &rule{shape: textShape} }
func path() *rule       { return &rule{shape: pathShape} }
func pattern() *rule    { return &rule{shape: patternShape} }
func templ() *rule      { return &rule{shape: templateShape} }
func itemExpr() *rule   { return &rule{shape: itemExprShape} }
func changeExpr() *rule { return &rule{shape: changeExprShape} }
func number() *rule     { return &rule{shape: numberShape} }
func boolean() *rule    { return &rule{shape: booleanShape} }
func size() *rule       { return &rule{shape: sizeShape} }
func duration() *rule   { return &rule{shape: durationShape} }
func anything() *rule   { return &rule{shape: anyShape} }

func integer(least int64) *rule { return &rule{shape: integerShape, least: least} }

// integerUpTo is a whole number from least to most.
func integerUpTo(least, most int64) *rule {
	return &rule{shape: integerShape, least: least, most: most}
}

// secret is text that no message shows.
func secret() *rule { return &rule{shape: textShape, secret: true} }

// textLike is text that matches the expression as a whole; likes says it in words.
func textLike(expression, likes string) *rule {
	return &rule{shape: textShape, like: regexp.MustCompile(`^(?:` + expression + `)$`), likes: likes}
}

// words is one of the names.
func words(names ...string) *rule { return &rule{shape: wordShape, words: names} }

func object(keys ...key) *rule     { return &rule{shape: objectShape, keys: keys} }
func list(elem *rule) *rule        { return &rule{shape: listShape, elem: elem, least: 1} }
func mapOf(names, r *rule) *rule   { return &rule{shape: mapShape, names: names, elem: r, least: 1} }
func either(scalar, o *rule) *rule { return &rule{shape: eitherShape, scalar: scalar, object: o} }

// one says that exactly one of the keys stands.
func (r *rule) one(keys ...string) *rule {
	r.oneOf = append(r.oneOf, group{keys: keys})
	return r
}

// atMostOne says that one of the keys stands, or none.
func (r *rule) atMostOne(keys ...string) *rule {
	r.oneOf = append(r.oneOf, group{keys: keys, optional: true})
	return r
}

// key finds an object's key by name.
func (r *rule) key(name string) (key, bool) {
	for _, k := range r.keys {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}

func (r *rule) keyNames() []string {
	names := make([]string, len(r.keys))
	for i, k := range r.keys {
		names[i] = k.name
	}
	return names
}

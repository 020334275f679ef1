package config

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/template"
)

// longestPrefix bounds an archive's prefix: S3 takes names of 1,024 bytes, and an object of a log
// has 150 of its own.
const longestPrefix = 400

// objectNameRules checks the names of an archive's objects, as far as the file makes them.
func (c *checker) objectNameRules(a *Archive, v *value) {
	prefix, of := v.get("prefix"), v
	t, end := a.Key, ""
	switch {
	case a.PerItem:
		of = v.get("key")
	case a.Partition != nil:
		t, end, of = a.Partition, "/x", v.get("partition")
	default:
		t, end = nil, "x"
	}
	if prefix != nil {
		if problem := objectNameProblem(a.Prefix + "x"); problem != "" {
			c.fail(prefix, "write folders as in changes/2026/", "%s %s", quoted(a.Prefix), problem)
			return
		}
		if len(a.Prefix) > longestPrefix {
			c.fail(prefix, "write a shorter one", "a prefix has %d bytes at most, and this one has %d", longestPrefix, len(a.Prefix))
			return
		}
	}
	if t == nil || of == nil {
		return
	}
	if problem := objectNameProblem(a.Prefix + strings.Join(t.Literals(), "x") + end); problem != "" { // values are never empty
		c.fail(of, "write segments of text and placeholders, with one / between two of them", "%s %s", quoted(a.Prefix+t.String()), problem)
	}
	ends := []string{".jsonl.zst", ".jsonl.gz", ".parquet"}
	if a.PerItem && slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(t.String(), end) }) {
		c.fail(of, "name the objects .json", "it ends in %s, by which objects of layout log are known", t.String()[strings.LastIndexByte(t.String(), '.'):])
	}
}

// objectNameProblem is what is wrong with the name of an object; "" where nothing is.
func objectNameProblem(name string) string {
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
			return "begins with /, and object names do not"
		case s == "":
			return "has a segment without text"
		case s == "." || s == "..":
			return fmt.Sprintf("has the segment %s, which some servers do not keep", s)
		case s[0] == '~' || s == ".~fingerprints":
			return fmt.Sprintf("has the segment %s, and names that begin so are the archive's own", s)
		}
	}
	return ""
}

// bucketRules checks what a bucket's name is beyond its letters.
func (c *checker) bucketRules(v *value) {
	if v == nil || v.text() == "" {
		return
	}
	name, problem := v.text(), ""
	switch {
	case strings.Contains(name, ".."):
		problem = "has two periods in a row"
	case net.ParseIP(name) != nil:
		problem = "is formed as an IP address"
	}
	for _, begin := range []string{"xn--", "sthree-", "amzn-s3-demo-"} {
		if strings.HasPrefix(name, begin) {
			problem = "begins with " + begin + ", which AWS keeps for itself"
		}
	}
	for _, end := range []string{".mrap", "--table-s3"} { // -s3alias is an access point's, which stands for its bucket
		if strings.HasSuffix(name, end) {
			problem = "ends with " + end + ", which AWS keeps for itself"
		}
	}
	if problem != "" {
		c.fail(v, "write the name of a bucket that is there", "%s %s: no S3 bucket has such a name", quoted(name), problem)
	}
}

// targetRules checks the queue and the bus that v names, for letters they cannot have.
func (c *checker) targetRules(v *value) {
	for _, name := range []string{"queue", "bus"} {
		if e := v.get(name); e != nil && strings.ContainsFunc(e.text(), func(r rune) bool { return r <= ' ' || r >= 0x7F }) {
			c.fail(e, "write it as AWS shows it", "%s is no %s's name or address: it holds a space, or a letter that is not ASCII", quoted(e.text()), name)
		}
	}
}

// maxTagKey is the longest key of an object's tag, in characters.
const maxTagKey = 128

// tagRules checks the keys of an archive's tags.
func (c *checker) tagRules(v *value) {
	for _, e := range v.get("tags").all() {
		if e.name == "" || utf8.RuneCountInString(e.name) > maxTagKey || strings.HasPrefix(e.name, "aws:") ||
			strings.ContainsFunc(e.name, func(r rune) bool {
				return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" +-=._:/@", r)
			}) {
			c.fail(e, "write 1 to 128 letters, digits, spaces and + - = . _ : / @, not beginning with aws:", "%s is no key of a tag", quoted(e.name))
		}
	}
}

// reservedTables begin the names of tables that a folder of embedded stores has for itself.
var reservedTables = []string{"_tw_", "_tws_", "sqlite_"}

// tableNameRules checks that the table of sink i has a name that every store takes: the embedded one
// tells names apart without regard to case.
func (c *checker) tableNameRules(cfg *Config, i int, v *value) {
	r, _ := rowsOf(cfg.Sinks[i])
	name := strings.ToLower(r.table)
	if name == "tables" || slices.ContainsFunc(reservedTables, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
		c.fail(v.get("table"), "give the table another name", "%s is reserved: tables, and names that begin with %s, are what a folder of embedded stores has for itself", quoted(r.table), enumerate(reservedTables, "or"))
	}
	for _, other := range cfg.Sinks[:i] {
		if o, ok := rowsOf(other); ok && o.table != r.table && strings.EqualFold(o.table, r.table) {
			c.fail(v.get("table"), "rename one of them", "%s and the table %s of %s differ in case alone, and a folder of embedded stores takes them for one", quoted(r.table), quoted(o.table), other.Name)
			return
		}
	}
}

// longestKeyName is the longest name of a key attribute in DynamoDB, in bytes.
const longestKeyName = 255

// attributeNameRules checks the names of what a row holds.
func (c *checker) attributeNameRules(key *value, others []*value) {
	for _, e := range append(slices.Clone(key.all()), others...) {
		if e.name == "" {
			c.fail(e, "give it a name", "an attribute has a name")
		}
	}
	for _, e := range key.all() {
		if len(e.name) > longestKeyName || strings.ContainsRune(e.name, 0) {
			c.fail(e, "give it a name of 1 to 255 bytes, without NUL", "it is no name of a key attribute")
		}
	}
}

// routingRules checks what a routing is made of.
func (c *checker) routingRules(t *template.Template, v *value) {
	if v == nil || t == nil || !t.Stable() {
		return // said elsewhere
	}
	if _, whole := t.Prefix(); whole {
		c.fail(v, "make it of key attributes", "it is the same for every item, and all documents would be in one shard")
		return
	}
	for _, p := range t.Paths() {
		if names := namesOf(p); len(names) != 1 {
			c.fail(v, "make it of key attributes", "{%s} is no key attribute: what may change would leave a document in two places", p)
			return
		}
	}
}

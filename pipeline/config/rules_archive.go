package config

import (
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// maxTags is how many tags an object of S3 may have.
const maxTags = 10

// maxColumnName is the longest name of a column, as Athena has it.
const maxColumnName = 255

// fixedColumns are the names of the columns that every Parquet object has.
var fixedColumns = []string{
	"key", "version", "op", "kind", "time", "sequence", "event_id", "event_name", "stream_arn", "table", "region", "view_type",
	"identity_type", "identity_principal_id", "size_bytes", "keys", "old", "new",
}

// archiveRules checks that a layout and a format have their own keys only.
func (c *checker) archiveRules(a *Archive) {
	c.waitRules(&a.Roll.Age)
	c.liveIf(a.Bucket == "", a, "add bucket: NAME", "no bucket is named")
	c.FailIf(len(a.Tags) > maxTags, &a.Tags, "keep ten of them",
		"an object has at most %d tags, not %d", maxTags, len(a.Tags))
	if a.Format != "parquet" {
		c.Refuse(&a.Columns, "write format: parquet, or remove it", "columns are of Parquet")
	}
	for _, e := range c.Of(&a.Columns).All() {
		switch {
		case slices.Contains(fixedColumns, e.Name):
			c.Fail(e, "take another name", "every Parquet object has a column %q", e.Name)
		case e.Name == "" || len(e.Name) > maxColumnName || strings.Trim(e.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
			c.Fail(e, "write 1 to 255 lowercase letters, digits and _", "%s is no name of a column that query engines take as it is", yamlbind.Quoted(e.Name))
		}
	}
	if e := c.Of(&a.Roll.Age); c.Sound(e) && yamlbind.As[time.Duration](e) == 0 {
		c.Fail(e, "write 1s to 1h, or remove the key for 5m", "an object gathers changes for some time")
	}
	if a.PerItem {
		c.perItemRules(a)
	} else {
		c.logRules(a)
	}
	c.objectNameRules(a)
	c.tagRules(a)
	c.bucketRules(&a.Bucket)
}

func (c *checker) logRules(a *Archive) {
	c.Refuse(&a.Key, "write layout: per_item, or partition: for the folders of the log", "an object key is of layout per_item")
	for _, e := range c.Of(&a.Tags).All() {
		if t := templateOf(e); t != nil && !t.OfTable() {
			c.Fail(e, "write text and {@table} only, or layout: per_item", "an object of the log holds many changes, and has one value of a tag")
		}
	}
}

func (c *checker) perItemRules(a *Archive) {
	for _, of := range []any{&a.Partition, &a.Roll, &a.Format} {
		if e := c.Of(of); e != nil {
			c.Fail(e, "remove it, or write layout: log", "%q is of layout log", e.Name)
		}
	}
	switch {
	case !c.Has(&a.Key):
		c.Fail(a, "add it, as in 'archive/{Type}/{PK}/{SK}/{@version}.json'", "layout per_item wants a key")
	case a.Key == nil:
	case !strings.Contains(a.Key.String(), "{@version}"):
		c.Fail(&a.Key, "put {@version} into it", "the key is the same for every change of an item, and objects are never overwritten")
		fallthrough
	default:
		if a.Key.AmbiguousObjectKey() {
			c.warnAmbiguous(&a.Key, "different items may come to the same text")
		}
	}
}

func (c *checker) warnAmbiguous(at any, what string) {
	c.Warn(at, "put a text between the placeholders that they cannot hold, or escape them with |esc", "parts of it could run together: %s", what)
}

// longestPrefix bounds an archive's prefix: S3 takes names of 1,024 bytes, and an object of a log
// has 150 of its own.
const longestPrefix = 400

// objectNameRules checks the names of an archive's objects, as far as the file makes them.
func (c *checker) objectNameRules(a *Archive) {
	if c.Has(&a.Prefix) {
		if problem := objectNameProblem(a.Prefix + "x"); problem != "" {
			c.Fail(&a.Prefix, "write folders as in changes/2026/", "%s %s", yamlbind.Quoted(a.Prefix), problem)
			return
		}
		if len(a.Prefix) > longestPrefix {
			c.Fail(&a.Prefix, "write a shorter one", "a prefix has %d bytes at most, and this one has %d", longestPrefix, len(a.Prefix))
			return
		}
	}
	t, of, end := a.Partition, &a.Partition, "/x"
	if a.PerItem {
		t, of, end = a.Key, &a.Key, ""
	}
	if t == nil {
		return
	}
	if problem := objectNameProblem(a.Prefix + strings.Join(t.Literals(), "x") + end); problem != "" { // values are never empty
		c.Fail(of, "write segments of text and placeholders, with one / between two of them", "%s %s", yamlbind.Quoted(a.Prefix+t.String()), problem)
	}
	ends := []string{".jsonl.zst", ".jsonl.gz", ".parquet"}
	if a.PerItem && slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(t.String(), end) }) {
		c.Fail(of, "name the objects .json", "it ends in %s, by which objects of layout log are known", path.Ext(t.String()))
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
func (c *checker) bucketRules(bucket *string) {
	name, problem := *bucket, ""
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
	c.FailIf(problem != "", bucket, "write the name of a bucket that is there",
		"%s %s: no S3 bucket has such a name", yamlbind.Quoted(name), problem)
}

// maxTagKey is the longest key of an object's tag, in characters.
const maxTagKey = 128

// tagRules checks the keys of an archive's tags.
func (c *checker) tagRules(a *Archive) {
	other := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" +-=._:/@", r)
	}
	for _, e := range c.Of(&a.Tags).All() {
		c.FailIf(e.Name == "" || utf8.RuneCountInString(e.Name) > maxTagKey || strings.HasPrefix(e.Name, "aws:") || strings.ContainsFunc(e.Name, other), e, "write 1 to 128 letters, digits, spaces and + - = . _ : / @, not beginning with aws:",
			"%s is no key of a tag", yamlbind.Quoted(e.Name))
	}
}

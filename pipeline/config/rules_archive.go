package config

import (
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// maxTags is the maximum number of tags of an S3 object.
const maxTags = 10

// maxColumnName is the maximum length of a column name in Athena.
const maxColumnName = 255

// fixedColumns are the columns of every Parquet object.
var fixedColumns = []string{
	"key", "version", "op", "kind", "time", "sequence", "event_id", "event_name", "stream_arn", "table", "region",
	"view_type", "identity_type", "identity_principal_id", "size_bytes", "keys", "old", "new",
}

// checkArchive checks an archive. Each key in the file must fit the layout and the format of the archive.
func (c *checker) checkArchive(a *Archive) {
	c.checkLinger(&a.Roll.Age)
	c.failOnServersIf(a.Bucket == "", a, "add bucket: NAME", "no bucket is named")
	c.FailIf(len(a.Tags) > maxTags, &a.Tags, "keep ten of them",
		"an object has at most %d tags, not %d", maxTags, len(a.Tags))
	if a.Format != "parquet" {
		c.Refuse(&a.Columns, "write format: parquet, or remove it", "columns are of Parquet")
	}
	for _, e := range c.ValueOf(&a.Columns).All() {
		isFixed := slices.Contains(fixedColumns, e.Name)
		c.FailIf(isFixed, e, "take another name", "every Parquet object has a column %q", e.Name)
		c.FailIf(!isFixed && !isColumnName(e.Name), e, "write 1 to 255 lowercase letters, digits and _",
			"%s is not a name of a column that query engines take as it is", yamlbind.Quoted(e.Name))
	}
	age := &a.Roll.Age
	c.FailIf(c.Sound(age) && *age == 0, age, "write 1s to 1h, or remove the key for 5m",
		"an object gathers changes for some time")
	if a.PerItem {
		c.checkPerItemLayout(a)
	} else {
		c.checkLogLayout(a)
	}
	c.checkObjectNames(a)
	c.checkTags(a)
	c.checkBucket(&a.Bucket)
}

// isColumnName reports whether query engines accept the name of a column without quotes.
func isColumnName(name string) bool {
	hasOnlyValid := strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
	return name != "" && len(name) <= maxColumnName && hasOnlyValid
}

// checkLogLayout checks an archive of layout log.
func (c *checker) checkLogLayout(a *Archive) {
	c.Refuse(&a.Key, "write layout: per_item, or partition: for the folders of the log",
		"an object key is of layout per_item")
	c.Refuse(&a.RawNames, "write layout: per_item, or remove it", "names of objects are of layout per_item")
	for _, e := range c.ValueOf(&a.Tags).All() {
		if t := templateOf(e); t != nil && !t.OfTable() {
			c.Fail(e, "write text and {@table} only, or layout: per_item",
				"an object of the log holds many changes, and has one value of a tag")
		}
	}
}

// checkPerItemLayout checks an archive of layout per_item.
func (c *checker) checkPerItemLayout(a *Archive) {
	for _, field := range []any{&a.Partition, &a.Roll, &a.Format} {
		if e := c.ValueOf(field); e != nil {
			c.Fail(e, "remove it, or write layout: log", "%q is of layout log", e.Name)
		}
	}
	switch {
	case !c.Has(&a.Key):
		c.Fail(a,
			"add it, as in 'archive/{Type}/{PK}/{SK}/{@version}.json', or without {@version} for the newest change of each item",
			"layout per_item wants a key")
	case a.Key == nil:
	case a.KeepsNewest() && !a.Key.NamesItem():
		c.Fail(&a.Key, "put {@version} into it, or {@key} for the newest change of each item",
			"the key is the same for all items")
	case a.RawNames && a.Key.AmbiguousRawObjectKey():
		c.Warn(&a.Key,
			"write names: escaped, or |esc after a placeholder, if a value can contain the text between two of them",
			"parts of it could run together: an item whose object is already another item's becomes a dead letter")
	case !a.RawNames && a.Key.AmbiguousObjectKey():
		c.warnAmbiguous(&a.Key, "different items may give the same text")
	}
}

func (c *checker) warnAmbiguous(field any, problem string) {
	c.Warn(field, "put a text between the placeholders that they cannot hold, or escape them with |esc",
		"parts of it could run together: %s", problem)
}

// maxPrefix is the maximum length of an archive's prefix, in bytes. An S3 object name has at most 1,024 bytes, of which
// layout log needs 150 bytes for the names that it adds.
const maxPrefix = 400

// checkObjectNames checks the parts of object names that the file defines.
func (c *checker) checkObjectNames(a *Archive) {
	if c.Has(&a.Prefix) && !c.checkPrefix(&a.Prefix) {
		return
	}
	field, nameInFolder := &a.Partition, "/x"
	if a.PerItem {
		field, nameInFolder = &a.Key, ""
	}
	name := *field
	if name == nil {
		return
	}
	// Each x is in place of a placeholder's value, which is never empty.
	exampleName := a.Prefix + strings.Join(name.Literals(), "x") + nameInFolder
	if problem := objectNameProblem(exampleName); problem != "" {
		c.Fail(field, "write segments of text and placeholders, with one / between two of them", "%s %s",
			yamlbind.Quoted(a.Prefix+name.String()), problem)
	}
	hasLogSuffix := slices.ContainsFunc([]string{".jsonl.zst", ".jsonl.gz", ".parquet"},
		func(logSuffix string) bool { return strings.HasSuffix(name.String(), logSuffix) })
	c.FailIf(a.PerItem && hasLogSuffix, field, "name the objects .json",
		"it ends in %s, by which objects of layout log are known", path.Ext(name.String()))
}

// checkPrefix checks the prefix of object names. It returns false if it notes a problem.
func (c *checker) checkPrefix(prefix *string) bool {
	if problem := objectNameProblem(*prefix + "x"); problem != "" {
		c.Fail(prefix, "write folders as in changes/2026/", "%s %s", yamlbind.Quoted(*prefix), problem)
		return false
	}
	if len(*prefix) > maxPrefix {
		c.Fail(prefix, "write a shorter one", "a prefix has %d bytes at most, and this one has %d", maxPrefix, len(*prefix))
		return false
	}
	return true
}

// objectNameProblem returns a description of what is wrong with an object name. It returns "" if the name is valid.
func objectNameProblem(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7F }):
		return "holds a control character"
	case strings.Contains(name, `\`):
		return `holds a \: folders are separated by /`
	}
	if strings.HasPrefix(name, "/") {
		return "begins with /, and object names do not"
	}
	for segment := range strings.SplitSeq(name, "/") {
		switch {
		case segment == "":
			return "has a segment without text"
		case segment == "." || segment == "..":
			return fmt.Sprintf("has the segment %s, which some servers do not keep", segment)
		case segment[0] == '~' || segment == ".~fingerprints":
			return fmt.Sprintf("has the segment %s, and names that begin so are the archive's own", segment)
		}
	}
	return ""
}

// minBucketName is the minimum length of an S3 bucket's name.
const minBucketName = 3

// checkBucket checks the rules of S3 for bucket names that are not about allowed characters.
func (c *checker) checkBucket(bucket *string) {
	name := *bucket
	c.failOnServersIf(name != "" && len(name) < minBucketName, bucket, "give it a longer name",
		"an S3 bucket's name has 3 characters or more, and %s has %d", yamlbind.Quoted(name), len(name))
	problem := bucketNameProblem(name)
	c.FailIf(problem != "", bucket, "write the name of a bucket that is there",
		"%s %s: no S3 bucket has such a name", yamlbind.Quoted(name), problem)
}

// bucketNameProblem returns a description of what is wrong with a bucket name. It returns "" if the name is valid.
func bucketNameProblem(name string) string {
	// -s3alias is allowed, because the alias of an access point can be used in place of a bucket name.
	for _, suffix := range []string{"--table-s3", ".mrap"} {
		if strings.HasSuffix(name, suffix) {
			return "ends with " + suffix + ", which AWS keeps for itself"
		}
	}
	for _, prefix := range []string{"xn--", "sthree-", "amzn-s3-demo-"} {
		if strings.HasPrefix(name, prefix) {
			return "begins with " + prefix + ", which AWS keeps for itself"
		}
	}
	switch {
	case strings.Contains(name, ".."):
		return "has two periods in a row"
	case net.ParseIP(name) != nil:
		return "is formed as an IP address"
	}
	return ""
}

// maxTagKey is the maximum length of an object tag's key, in characters.
const maxTagKey = 128

// checkTags checks the keys of an archive's tags.
func (c *checker) checkTags(a *Archive) {
	for _, e := range c.ValueOf(&a.Tags).All() {
		c.FailIf(!isTagKey(e.Name), e,
			"write 1 to 128 letters, digits, spaces and + - = . _ : / @, not beginning with aws:",
			"%s is not a key of a tag", yamlbind.Quoted(e.Name))
	}
}

// isTagKey reports whether S3 accepts the key of an object tag.
func isTagKey(key string) bool {
	isForbidden := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" +-=._:/@", r)
	}
	isTooLong := utf8.RuneCountInString(key) > maxTagKey
	return key != "" && !isTooLong && !strings.HasPrefix(key, "aws:") && !strings.ContainsFunc(key, isForbidden)
}

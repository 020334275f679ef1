package config

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/template"
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
func (c *checker) archiveRules(a *Archive, v *value) {
	if e := v.get("tags"); e != nil && len(a.Tags) > maxTags {
		c.fail(e, "keep ten of them", "an object has at most %d tags, not %d", maxTags, len(a.Tags))
	}
	if e := v.get("columns"); e != nil && a.Format != Parquet {
		c.fail(e, "write format: parquet, or remove it", "columns are of Parquet")
	}
	for _, e := range v.get("columns").all() {
		switch {
		case slices.Contains(fixedColumns, e.name):
			c.fail(e, "take another name", "every Parquet object has a column %q", e.name)
		case e.name == "" || len(e.name) > maxColumnName || strings.Trim(e.name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
			c.fail(e, "write 1 to 255 lowercase letters, digits and _", "%s is no name of a column that query engines take as it is", quoted(e.name))
		}
	}
	if e := v.get("roll").get("age"); e != nil && e.data != nil && e.duration() == 0 {
		c.fail(e, "write 1s to 1h, or remove the key for 5m", "an object gathers changes for some time")
	}
	if a.PerItem {
		c.perItemRules(a, v)
		return
	}
	if e := v.get("key"); e != nil {
		c.fail(e, "write layout: per_item, or partition: for the folders of the log", "an object key is of layout per_item")
	}
	for _, e := range v.get("tags").all() {
		if t := as[*template.Template](e); t != nil && !t.OfTable() {
			c.fail(e, "write text and {@table} only, or layout: per_item", "an object of the log holds many changes, and has one value of a tag")
		}
	}
}

func (c *checker) perItemRules(a *Archive, v *value) {
	for _, k := range []string{"partition", "roll", "format"} {
		if e := v.get(k); e != nil {
			c.fail(e, "remove it, or write layout: log", "%q is of layout log", k)
		}
	}
	if v.get("key") == nil {
		c.fail(v, "add it, as in 'archive/{Type}/{PK}/{SK}/{@version}.json'", "layout per_item wants a key")
	}
	if a.Key != nil && !strings.Contains(a.Key.String(), "{@version}") {
		c.fail(v.get("key"), "put {@version} into it", "the key is the same for every change of an item, and objects are never overwritten")
	}
	if a.Key != nil && a.Key.AmbiguousObjectKey() {
		c.warnAmbiguous(v.get("key"), "different items may come to the same text")
	}
}

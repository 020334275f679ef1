package athena

import (
	"fmt"
	"regexp"
	"strings"
)

// plainName matches names that Athena accepts unchanged.
var plainName = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)

// tableName returns the table name of a sink. It contains only lowercase letters, digits and _. A plain name stays as
// it is. In another name, each byte except a to z and 0 to 9 becomes "__" and two hex digits. No plain name contains
// "__", so two sinks never have the same table. The views of a table end in "__" and a word that is not hex digits.
func tableName(sink string) string {
	if plainName.MatchString(sink) {
		return sink
	}
	var b strings.Builder
	for _, c := range []byte(sink) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "__%02x", c)
		}
	}
	return b.String()
}

// hiveIdentifier quotes a name for statements that create tables. Quotes allow reserved words and leading underscores.
func hiveIdentifier(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// sqlIdentifier quotes a name in queries and views.
func sqlIdentifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// hiveText quotes a text for statements that create tables.
func hiveText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// sqlText quotes a text in queries and views.
func sqlText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// hiveName returns a name with its database, for statements that create tables.
func (t *table) hiveName(name string) string { return t.qualified(name, hiveIdentifier) }

// sqlName returns a name with its database, for queries and views.
func (t *table) sqlName(name string) string { return t.qualified(name, sqlIdentifier) }

// qualified returns the quoted name, after the quoted database if there is one.
func (t *table) qualified(name string, quote func(string) string) string {
	if t.Database == "" {
		return quote(name)
	}
	return quote(t.Database) + "." + quote(name)
}

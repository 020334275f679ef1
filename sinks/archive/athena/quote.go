package athena

import (
	"fmt"
	"regexp"
	"strings"
)

// plainName is a name that Athena takes as it is.
var plainName = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)

// tableName is a sink's name as that of a table: lowercase letters, digits and _ only.
// Any other name has every byte but a to z and 0 to 9 as "__" and two hex digits, which
// no plain name holds: so no two sinks share a table, nor a view of one's
// with "__" and a word behind it that is no hex digits.
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

// hiveIdentifier quotes a name in DDL, where reserved words and leading underscores
// are names too.
func hiveIdentifier(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// identifier quotes a name in queries and views.
func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// hiveText quotes a text in DDL.
func hiveText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// text quotes a text in queries and views.
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// hiveName is a name in the database, in DDL.
func (t *table) hiveName(name string) string {
	if t.Database == "" {
		return hiveIdentifier(name)
	}
	return hiveIdentifier(t.Database) + "." + hiveIdentifier(name)
}

// sqlName is a name in the database, in queries and views.
func (t *table) sqlName(name string) string {
	if t.Database == "" {
		return identifier(name)
	}
	return identifier(t.Database) + "." + identifier(name)
}

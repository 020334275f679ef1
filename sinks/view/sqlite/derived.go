package sqlite

import (
	"database/sql"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/view"
)

// sqlView is what [view.StoredRow].Derived says of a row whose attributes in the SQL view are not those of the row.
const sqlView = "attributes of the SQL view"

// derivedChecker compares the column that readers of SQL see with the row that it is made of. It reuses its memory.
type derivedChecker struct {
	table view.Table
	buf   []byte
}

// check returns what differs; "" if nothing does. A tombstone has no attributes.
func (c *derivedChecker) check(row item.Image, attributes sql.NullString) string {
	if !row.Exists() {
		if attributes.Valid {
			return sqlView
		}
		return ""
	}
	c.buf = append(c.buf[:0], '{')
	for name, v := range row.All() {
		if name == c.table.PK || name == c.table.SK {
			continue
		}
		if len(c.buf) > 1 {
			c.buf = append(c.buf, ',')
		}
		c.buf = v.AppendJSON(append(appendName(c.buf, name), ':'))
	}
	c.buf = append(c.buf, '}')
	if attributes.Valid && string(c.buf) == attributes.String {
		return ""
	}
	return sqlView
}

package sqlite

import (
	"database/sql"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/view"
)

// sqlViewDiffers is the value of [view.StoredRow].DifferingCopy if the SQL view has other attributes than the row.
const sqlViewDiffers = "attributes of the SQL view"

// derivedChecker compares the column attributes with the row from which the column was made. Readers of the SQL view
// see this column. The checker reuses its memory.
type derivedChecker struct {
	table view.Table
	buf   []byte
}

// check compares the value of the column attributes with the attributes of row. It returns sqlViewDiffers if they
// differ; otherwise "". row is absent for a tombstone; then the column must be NULL.
func (c *derivedChecker) check(row item.Image, attributes sql.NullString) string {
	if !row.Exists() {
		if attributes.Valid {
			return sqlViewDiffers
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
		c.buf = v.AppendJSON(append(item.AppendJSONText(c.buf, name), ':'))
	}
	c.buf = append(c.buf, '}')
	if attributes.Valid && string(c.buf) == attributes.String {
		return ""
	}
	return sqlViewDiffers
}

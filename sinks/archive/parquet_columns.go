package archive

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/archive/internal/columnar"
)

// Column is an additional column of Parquet objects. Its values are text, whatever the type of the attribute, so that
// no digit is lost. A number has no exponent, a boolean is true or false, and binary is base64url. If the template is
// exactly one {path}, a list, a map or a set is JSON. A missing value is null.
type Column struct {
	Name  string // lowercase letters, digits and _, as Athena requires; not the name of a fixed column
	Value *template.Template
}

// FixedColumns returns the names of the columns of every Parquet object, in order.
func FixedColumns() []string {
	names := make([]string, columnar.Fields)
	for i := range names {
		names[i] = columnar.Field(i).Name()
	}
	return names
}

// maxColumnName is Athena's limit, in bytes.
const maxColumnName = 255

// checkColumns returns an error if one of the configured columns is invalid.
func checkColumns(cs []Column) error {
	seen := make(map[string]bool)
	for _, c := range cs {
		hasOtherBytes := strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != ""
		switch {
		case c.Name == "" || len(c.Name) > maxColumnName || hasOtherBytes:
			return fmt.Errorf("archive: Columns: %q is not a name of a column: write lowercase letters, digits and _", c.Name)
		case columnar.Reserved(c.Name):
			return fmt.Errorf("archive: Columns: every object has a column %q: take another name", c.Name)
		case seen[c.Name]:
			return fmt.Errorf("archive: Columns: %q is there twice", c.Name)
		case c.Value == nil:
			return fmt.Errorf("archive: Columns: the template of %q is nil", c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

// columnsOf returns the values of the columns for a change, masked.
func (s *Sink) columnsOf(scope template.Scope) ([]item.Value, error) {
	if len(s.o.Columns) == 0 {
		return nil, nil
	}
	values := make([]item.Value, len(s.o.Columns))
	for i, c := range s.o.Columns {
		value, _, err := c.Value.Value(scope)
		if err != nil {
			return nil, fmt.Errorf("archive: column %s: %w", c.Name, err)
		}
		values[i] = value
	}
	return values, nil
}

// appendCell appends the text of a column's value.
func appendCell(dst []byte, v item.Value) []byte {
	switch v.Kind() {
	case item.KindS:
		text, _ := v.Text()
		return append(dst, text...)
	case item.KindN:
		number, _ := v.Number()
		return number.Append(dst)
	case item.KindBOOL:
		b, _ := v.Bool()
		return strconv.AppendBool(dst, b)
	case item.KindB:
		b, _ := v.Bytes()
		return base64.RawURLEncoding.AppendEncode(dst, b)
	}
	return v.AppendJSON(dst)
}

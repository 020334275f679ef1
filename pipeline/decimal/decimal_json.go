package decimal

import (
	"encoding/json"
	"fmt"
)

var (
	_ json.Marshaler   = Decimal{}
	_ json.Unmarshaler = (*Decimal)(nil)
)

// MarshalJSON returns d as a JSON number with all its digits and no exponent.
func (d Decimal) MarshalJSON() ([]byte, error) { return d.Append(nil), nil }

// UnmarshalJSON parses a JSON number, or a string with a number. null does not change d.
func (d *Decimal) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	text := string(b)
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return errs.New("pipeline: decimal: the text is not JSON")
		}
	}
	number, err := Parse(text)
	if err != nil {
		return fmt.Errorf("pipeline: decimal: %w", err)
	}
	*d = number
	return nil
}

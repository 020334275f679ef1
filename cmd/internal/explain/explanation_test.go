package explain

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

// A value is cut after maxShown characters, whatever their length in bytes.
func TestTruncatedJSON(t *testing.T) {
	const open = `"`
	whole := strings.Repeat("é", maxShown-2)
	for _, tt := range []struct{ text, want string }{
		{whole, open + whole + open},
		{whole + "éé", open + whole + "é... (162 bytes)"},
	} {
		if got := truncatedJSON(item.StringValue(tt.text)); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
	if got := truncatedJSON(item.Value{}); got != "absent" {
		t.Errorf("%s, want absent", got)
	}
}

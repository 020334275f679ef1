package opensearch

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/search"
)

// Different aliases have different physical indexes with legal names, whatever the length of the alias.
func TestPhysicalNames(t *testing.T) {
	aliases := []string{"a", "a.tw1", "a.twh1", strings.Repeat("é", 127)}
	for n := 245; n <= maxName; n++ {
		long := strings.Repeat("x", n)
		aliases = append(aliases, long, long[:n-1]+"y")
		if at := physicalName(long); len(at) == maxName && strings.HasSuffix(at, hashedEnd) {
			aliases = append(aliases, strings.TrimSuffix(at, hashedEnd))
		}
	}
	of := make(map[string]string)
	for _, alias := range aliases {
		at := physicalName(alias)
		if err := search.CheckIndex(at); err != nil {
			t.Errorf("behind %q: %v", alias, err)
		}
		if strings.ToValidUTF8(at, "") != at {
			t.Errorf("%q is behind %q, and no text", at, alias)
		}
		if other, taken := of[at]; taken && other != alias {
			t.Errorf("%q is behind %q and %q", at, other, alias)
		}
		of[at] = alias
	}
}

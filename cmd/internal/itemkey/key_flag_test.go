package itemkey_test

import (
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/itemkey"
	"github.com/tablewake/tablewake/pipeline/config"
)

// --key takes names with values, or a canonical key. In a canonical key, = begins a binary value, also after the name of
// a table.
func TestParse(t *testing.T) {
	one := &config.Config{}
	one.Source.Tables = []config.Table{{Name: "shop"}}
	two := &config.Config{}
	two.Source.Tables = []config.Table{{Name: "shop"}, {Name: "stock"}}
	for _, tt := range []struct {
		text  string
		cfg   *config.Config
		table string
		want  string
		named bool
	}{
		{"PK=USER#1,SK=PROFILE", one, "", "USER%231,PROFILE", true},
		{"PK:B=AQI=", one, "", "=AQI", true},
		{"USER%231,PROFILE", one, "", "USER%231,PROFILE", false},
		{"=AQI", one, "", "=AQI", false},
		{"a,=AQI", one, "", "a,=AQI", false},
		{"shop!=AQI", one, "", "=AQI", false},
		{"shop!=AQI", two, "", "shop!=AQI", false},
		{"shop!=AQI,x", two, "shop", "shop!=AQI,x", false},
		{"PK=a", two, "stock", "stock!a", true},
	} {
		key, err := itemkey.Parse(tt.text, tt.cfg, tt.table)
		if err != nil || string(key.Canonical) != tt.want || key.Attributes.Exists() != tt.named {
			t.Errorf("%s: key %s, named %t, %v; want %s, %t", tt.text, key.Canonical, key.Attributes.Exists(), err, tt.want, tt.named)
		}
	}
}

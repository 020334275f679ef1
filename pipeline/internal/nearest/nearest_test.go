package nearest

import "testing"

func TestName(t *testing.T) {
	functions := []string{"lower", "upper", "pad", "hash", "esc", "index_name", "date", "after", "before", "default", "split"}
	for _, tt := range []struct{ got, want string }{
		{"lowercase", ""}, // too far from all names
		{"lowr", "lower"},
		{"Lower", "lower"},
		{"uper", "upper"},
		{"dtae", "date"},
		{"indexname", "index_name"},
		{"spilt", "split"},
		{"frobnicate", ""},
		{"", ""},
		{"ecs", "esc"},
	} {
		if got := Name(tt.got, functions); got != tt.want {
			t.Errorf("Name(%q) = %q, want %q", tt.got, got, tt.want)
		}
	}
}

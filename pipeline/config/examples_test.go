package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// The whole shop loads, without a warning.
func TestExampleShop(t *testing.T) {
	cfg, err := load(t, "testdata/examples/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Warnings) > 0 {
		t.Error(cfg.Warnings)
	}
	if len(cfg.Sinks) != 8 || cfg.State.Table != "tablewake-state" || len(cfg.Sensitive) != 2 || cfg.HMACKey != environment["TABLEWAKE_HMAC_KEY"] {
		t.Errorf("%+v", cfg)
	}
}

// What the other examples wait for is named, and nothing else is wrong with them.
func TestExamplesThatWait(t *testing.T) {
	for _, name := range []string{"tenants", "audit"} {
		_, err := load(t, "testdata/examples/"+name+".yaml")
		problems, ok := errors.AsType[config.Problems](err)
		if !ok {
			t.Fatalf("%s: error is %v (%T), want Problems", name, err, err)
		}
		for _, p := range problems {
			if !strings.Contains(p.Message, `"sinks" capability`) {
				t.Error(p)
			}
		}
		golden(t, "testdata/examples/"+name+".golden", problems.Error()+"\n")
	}
}

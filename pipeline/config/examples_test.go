package config_test

import (
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/config"
)

// The example loads, and its only warning is about the archive key.
func TestExampleShop(t *testing.T) {
	cfg, err := load(t, "testdata/examples/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range cfg.Warnings { // the warning is that raw names keep a / of a value
		if w.Field != "sinks.deleted.archive.key" {
			t.Error(w)
		}
	}
	if len(cfg.Sinks) != 12 || len(cfg.Entities) != 5 || cfg.State.Table.Name != "tablewake-state" || len(cfg.Sensitive) != 2 || cfg.HMACKey != environment["TABLEWAKE_HMAC_KEY"] {
		t.Errorf("%+v", cfg)
	}
}

func TestExampleTenants(t *testing.T) {
	s := example(t, "tenants").Sinks[0].Search
	if !s.OnDemand || s.MaxIndexes != 500 || !s.HashID || s.Fast || s.Index.String() != "docs-{TenantId|index_name}" {
		t.Errorf("%+v", s)
	}
}

func TestExampleAudit(t *testing.T) {
	a := example(t, "audit").Sinks[0].Archive
	if a.Format != "parquet" || a.Images != "plain_json" || len(a.Columns) != 2 || a.Columns[1].Name != "tenant" ||
		a.Roll != (config.Roll{Bytes: 128e6, Age: 15 * time.Minute}) {
		t.Errorf("%+v", a)
	}
}

func example(t *testing.T, name string) *config.Config {
	t.Helper()
	cfg, err := load(t, "testdata/examples/"+name+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Warnings) > 0 {
		t.Error(cfg.Warnings)
	}
	return cfg
}

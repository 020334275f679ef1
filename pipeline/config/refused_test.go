package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// TestRefused compares the messages for each bad file with its golden file.
func TestRefused(t *testing.T) {
	for _, file := range glob(t, "testdata/bad/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := load(t, file)
			problems, ok := errors.AsType[config.Problems](err)
			if !ok {
				t.Fatalf("error is %v (%T), want Problems", err, err)
			}
			for _, p := range problems {
				if p.Line < 1 || p.Column < 1 || p.Message == "" {
					t.Errorf("problem without place or message: %+v", p)
				}
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", problems.Error()+"\n")
		})
	}
}

// TestWarned compares the warnings for each good file with its golden file.
func TestWarned(t *testing.T) {
	for _, file := range glob(t, "testdata/good/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			cfg, err := load(t, file)
			if err != nil {
				t.Fatal(err)
			}
			text := "no warnings"
			if len(cfg.Warnings) > 0 {
				text = cfg.Warnings.Error()
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", text+"\n")
		})
	}
}

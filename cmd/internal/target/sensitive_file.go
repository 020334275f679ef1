package target

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/private"
)

// sensitiveFile is the file of a --local folder that lists sensitive attributes, one pattern per line. It has the
// patterns of all configurations that wrote the folder, because older dead letters can contain an attribute that a
// later configuration does not list.
const sensitiveFile = "sensitive.txt"

// addSensitive adds the sensitive attributes of cfg to the sensitive file.
func addSensitive(dir string, cfg *config.Config) error {
	known, err := readSensitive(dir)
	if err != nil {
		return err
	}
	patterns := slices.Clone(known)
	for _, p := range cfg.Sensitive {
		if !slices.Contains(patterns, p.String()) {
			patterns = append(patterns, p.String())
		}
	}
	if len(patterns) == len(known) {
		return nil
	}
	path, temporaryPath := filepath.Join(dir, sensitiveFile), filepath.Join(dir, "."+sensitiveFile)
	return private.WriteFile(path, temporaryPath, []byte(strings.Join(patterns, "\n")+"\n"))
}

// readSensitive returns the patterns of the sensitive file; nil if the file is missing.
func readSensitive(dir string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(dir, sensitiveFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' }), err
}

// FolderMask returns a mask for the patterns of the sensitive file. The key of the mask is random, so that a command
// needs no secret to read a folder. Therefore equal values have equal masked texts only within one run of a command.
func FolderMask(dir string) (*mask.Mask, error) {
	texts, err := readSensitive(dir)
	if err != nil {
		return nil, err
	}
	var patterns []item.Pattern
	for _, text := range texts {
		p, err := item.ParsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("%s is damaged: the line %q: %w: write in each line an attribute that is to be masked",
				filepath.Join(dir, sensitiveFile), text, err)
		}
		patterns = append(patterns, p)
	}
	key := make([]byte, 32)
	rand.Read(key)
	return mask.New(patterns, key)
}

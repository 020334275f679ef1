package gaps

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
)

// maxRounds is the maximum number of rounds of a repair. Each round repairs the differences and compares again.
const maxRounds = 3

// workReports are the reports of the comparisons of one repair. Only the last one is kept, if differences remain.
type workReports struct {
	prefix string // common beginning of their paths
	result string // path of the kept report; "" if none is kept
	folder string // temporary folder of the reports; "" if one is kept
}

// newWorkReports returns the reports of a repair. Their paths differ by subject, so that the files of another
// interrupted repair do not conflict.
func newWorkReports(result, subject string) (workReports, error) {
	if result != "" {
		return workReports{prefix: result + "." + subject[:8], result: result}, nil
	}
	folder, err := os.MkdirTemp("", "tablewake-gaps-")
	return workReports{prefix: filepath.Join(folder, "report.jsonl"), folder: folder}, err
}

// first returns the path of the report of the first comparison.
func (w workReports) first() string { return w.prefix + ".first" }

// later returns the paths of the reports of the comparisons after the first.
func (w workReports) later() (paths []string) {
	for round := 1; round <= maxRounds; round++ {
		paths = append(paths, fmt.Sprintf("%s.again-%d", w.prefix, round))
	}
	return paths
}

// removeLater removes the later reports of an interrupted repair, because they do not belong to the new first report.
func (w workReports) removeLater() error {
	var failed []error
	for _, path := range w.later() {
		failed = append(failed, os.RemoveAll(path), os.RemoveAll(path+".work"))
	}
	return errors.Join(failed...)
}

// removeFolder removes the temporary folder.
func (w workReports) removeFolder() error {
	if w.folder == "" {
		return nil
	}
	return os.RemoveAll(w.folder)
}

// finish renames the report last to the path of the result if differences remain. It removes all other reports,
// including the result of an earlier repair.
func (w workReports) finish(last string, differencesRemain bool) error {
	if w.result == "" {
		return w.removeFolder()
	}
	var failed []error
	old := append(w.later(), w.first())
	if differencesRemain {
		failed = append(failed, os.Rename(last, w.result))
	} else {
		old = append(old, w.result)
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// checkReport returns an error if a report would replace a file that is not a report.
func checkReport(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || info.Size() == 0 {
		return err
	}
	if _, _, err := run.ReadReport(path, func(string, *audit.Finding) error { return nil }); err != nil {
		return cli.Usagef("--report would replace a file that is not a report: %v", err)
	}
	return nil
}

package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/tablewake/guide"
)

// document is README.md or a guide.
type document struct {
	name, text string // the name is the path in the repository
	blocks     []codeBlock
}

// codeBlock is a fenced block of a document.
type codeBlock struct {
	kind string // the word after the fence: console, sh, yaml, go, ...
	text string // text with the end of each line
	line int    // number of its first line
}

func (d document) at(b codeBlock) string { return fmt.Sprintf("%s:%d", d.name, b.line) }

// documents returns README.md and the guides.
func documents(t *testing.T) []document {
	t.Helper()
	names := []string{"README.md"}
	for _, topic := range guide.Topics() {
		names = append(names, "cmd/tablewake/guide/"+topic+".md")
	}
	var all []document
	for _, name := range names {
		d := document{name: name, text: read(t, filepath.Join("..", "..", name))}
		var b *codeBlock
		for i, line := range strings.SplitAfter(d.text, "\n") {
			fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
			switch {
			case isFence && b == nil:
				b = &codeBlock{kind: fence, line: i + 2}
			case isFence:
				d.blocks = append(d.blocks, *b)
				b = nil
			case b != nil:
				b.text += line
			}
		}
		if b != nil {
			t.Fatalf("%s has no end", d.at(*b))
		}
		for i, b := range d.blocks {
			output := b.kind == "" && i > 0 && strings.HasPrefix(d.blocks[i-1].text, "go run ./cmd/tablewake ")
			if !output && !slices.Contains([]string{"console", "sh", "yaml", "go"}, b.kind) {
				t.Errorf("%s: no test knows a block of %q", d.at(b), b.kind)
			}
		}
		all = append(all, d)
	}
	return all
}

// fileName matches the first line of a block that readers save: `# tablewake.yaml`.
var fileName = regexp.MustCompile(`^(?:#|//) ([a-z_]+\.(?:yaml|go))\n`)

// TestDocuments_Console runs the commands of console blocks in the order of the document, in a folder with the files
// that the document shows. It compares what they print. "..." in a line stands for any text, and a line of "..." for
// any lines.
func TestDocuments_Console(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"OS_URL", "TABLEWAKE_HMAC_KEY", "COMPLETED_QUEUE", "TMPDIR"} {
		t.Setenv(name, "") // the configurations use their defaults
	}
	for _, d := range documents(t) {
		t.Run(strings.TrimSuffix(filepath.Base(d.name), ".md"), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Symlink(filepath.Join(root, "test"), filepath.Join(dir, "test")); err != nil {
				t.Fatal(err)
			}
			for i, b := range d.blocks {
				if m := fileName.FindStringSubmatch(b.text); m != nil {
					if err := os.WriteFile(filepath.Join(dir, m[1]), []byte(b.text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				shown := strings.Split("\n"+b.text, "\n$ ")[1:]
				if command, run := strings.CutPrefix(b.text, "go run ./cmd/tablewake "); run && b.kind == "sh" {
					shown = []string{"tablewake " + command + d.blocks[i+1].text} // its output is the next block
				} else if b.kind != "console" {
					continue
				}
				for _, s := range shown {
					command, want, _ := strings.Cut(s, "\n")
					for strings.HasSuffix(command, `\`) {
						more, rest, _ := strings.Cut(want, "\n")
						command, want = command+"\n"+more, rest
					}
					got := runShown(t, dir, command)
					if !shownAs(want).MatchString(comparable(got)) {
						t.Errorf("%s: %s (-shown +printed):\n%s", d.at(b), command, cmp.Diff(comparable(want), comparable(got)))
					}
				}
			}
		})
	}
}

// runShown runs a command of a document, and returns what it printed: standard output, then standard error.
func runShown(t *testing.T, dir, command string) string {
	t.Helper()
	if line, ok := strings.CutPrefix(command, "sqlite3 out/views.db "); ok {
		return rowsOf(t, filepath.Join(dir, "out", "views.db"), strings.Trim(line, "'"))
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && stdout.Len()+stderr.Len() == 0 { // a failing command prints an error, which the document shows
		t.Errorf("%s: %v", command, err)
	}
	return stdout.String() + progressLine.ReplaceAllString(stderr.String(), "")
}

// progressLine matches a line that a slow machine adds: the progress of a long run, or a warning of the log.
var progressLine = regexp.MustCompile(`(?m)^( *\d+% |[\d,]+ of [\d,]+ items, |time=\S+ level=).*\n?`)

// measured matches a part of an output that differs from run to run.
var measured = regexp.MustCompile(`\d+\.\d\d s, [\d,]+ records/s|in [\d.]+m?s, [\d,]+ a second`)

// coalescing matches a row in the table of a replay: the sink, what the sink got, and what it did.
var coalescing = regexp.MustCompile(`(?m)^( +\w+ +[\d,]+)[ \d,]+$`)

// comparable returns an output without the parts that differ from run to run.
func comparable(text string) string {
	text = measured.ReplaceAllString(text, "(time and rate)")
	if strings.Contains(text, "source: read ") { // timing decides which changes are coalesced
		text = coalescing.ReplaceAllString(text, "$1 ...")
	}
	return strings.TrimSpace(regexp.MustCompile(` +\n`).ReplaceAllString(text+"\n", "\n"))
}

// shownAs returns the pattern of the outputs that a document shows as text.
func shownAs(text string) *regexp.Regexp {
	pattern := regexp.QuoteMeta(comparable(text))
	pattern = regexp.MustCompile(`(?m)^\\\.\\\.\\\.$`).ReplaceAllString(pattern, `(?s:.*?)`)
	pattern = strings.ReplaceAll(pattern, `\.\.\.`, `[^\n]*`)
	return regexp.MustCompile(`^` + pattern + `$`)
}

// TestDocuments_Commands parses the commands that are not run. If a block runs a foreign program, the first line of the
// block begins with "# needs".
func TestDocuments_Commands(t *testing.T) {
	commands := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.kind != "sh" {
				continue
			}
			for _, words := range commandsOf(b.text) {
				if words[0] == "tablewake" {
					commands++
					checkCommand(t, d.at(b), words[1:])
				} else if !ours[words[0]] && !strings.HasPrefix(b.text, "# needs ") {
					t.Errorf("%s: %q is not run, and the block does not begin with `# needs ...`", d.at(b), words)
				}
			}
		}
		for _, m := range regexp.MustCompile("`(tablewake [^`\n]+)`").FindAllStringSubmatch(d.text, -1) {
			for _, words := range commandsOf(m[1]) {
				if words[0] == "tablewake" {
					commands++
					checkCommand(t, d.name, words[1:])
				}
			}
		}
	}
	if commands < 90 {
		t.Errorf("%d commands were parsed", commands)
	}
}

// ours has the programs whose commands change nothing but this machine.
var ours = map[string]bool{"go": true, "export": true, "cp": true, "jq": true, "curl": true}

// checkCommand checks that a command exists and has these flags.
func checkCommand(t *testing.T, at string, words []string) {
	t.Helper()
	if len(words) == 0 || words[0] == "help" || strings.HasPrefix(words[0], "-") || strings.ToUpper(words[0]) == words[0] {
		return
	}
	args := append(slices.Clone(words), "--help")
	var help, errs bytes.Buffer
	code := program.Main(args, cli.Streams{Out: &help, Err: &errs})
	if code != 0 {
		t.Errorf("%s: tablewake %s: %s", at, strings.Join(words, " "), errs.String())
	} else if text := help.String(); strings.Contains(text, "Available Commands:") && (words[0] == "leases" || !strings.Contains(text, "  tablewake "+words[0]+" ")) {
		t.Errorf("%s: there is no command tablewake %s", at, strings.Join(words, " "))
	}
}

// shellToken matches a comment, the end of a command, or a word.
var shellToken = regexp.MustCompile(`#.*|[|;&\n]+|(?:'[^']*'|"[^"]*"|\\.|[^\s'"|;&\\])+`)

// assignment matches a word before a command that sets a variable.
var assignment = regexp.MustCompile(`^[A-Za-z_]+=`)

// commandsOf returns the words of each command in lines of a shell.
func commandsOf(text string) (commands [][]string) {
	var words []string
	for _, token := range shellToken.FindAllString(strings.ReplaceAll(text, "\\\n", " ")+"\n", -1) {
		switch {
		case strings.HasPrefix(token, "#"):
		case strings.ContainsAny(token[:1], "|;&\n"):
			if len(words) > 0 {
				commands = append(commands, words)
			}
			words = nil
		default:
			token = strings.NewReplacer("'", "", `"`, "").Replace(token)
			if len(words) > 0 || !assignment.MatchString(token) {
				words = append(words, token)
			}
		}
	}
	return commands
}

// TestDocuments_Go checks that Go code is formatted. cmd/cli compiles the whole program of the guide.
func TestDocuments_Go(t *testing.T) {
	n := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.kind != "go" {
				continue
			}
			n++
			if code, err := format.Source([]byte(b.text)); err != nil {
				t.Errorf("%s: %v", d.at(b), err)
			} else if diff := cmp.Diff(b.text, string(code)); diff != "" {
				t.Errorf("%s (-shown +formatted):\n%s", d.at(b), diff)
			}
		}
	}
	if n < 3 {
		t.Errorf("%d blocks of Go were found", n)
	}
}

// TestDocuments_Messages checks that the messages of the guide are those of the program.
func TestDocuments_Messages(t *testing.T) {
	var source strings.Builder
	root := filepath.Join("..", "..")
	for _, folder := range []string{"cmd", "handlers", "pipeline", "shardreader", "sinks"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ os.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				source.WriteString(read(t, path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	_, text, _ := strings.Cut(read(t, filepath.Join("guide", "upgrade.md")), "## Find a message")
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(text, -1) {
		for part := range strings.SplitSeq(m[1], "...") {
			n++
			if !strings.Contains(source.String(), strings.TrimSpace(part)) {
				t.Errorf("no program says %q", part)
			}
		}
	}
	if n < 15 {
		t.Errorf("%d messages were found", n)
	}
}

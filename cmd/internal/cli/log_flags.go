package cli

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// logFlags are the flags --log-format and --log-level.
type logFlags struct {
	format     Format
	level      slog.LevelVar
	levelGiven bool // --log-level was given
}

// add adds the flags to c and its subcommands.
func (l *logFlags) add(c *cobra.Command) {
	l.format = FormatText
	f := c.PersistentFlags()
	f.Var(&l.format, "log-format", "format of standard error: text, or json: each line is a document")
	f.TextVar(&l.level, "log-level", &l.level, "log level: debug, info, warn or error (default warn; consume: info)")
	f.Lookup("log-level").DefValue = ""
	completeFormat(c, "log-format")
	_ = c.RegisterFlagCompletionFunc("log-level",
		cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
}

// parseKnown sets the flags from args and ignores all other flags. The error of a wrong command line is
// printed in the requested format, so these flags are needed even if cobra could not parse args.
func (l *logFlags) parseKnown(args []string) {
	c := &cobra.Command{FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}}
	l.add(c)
	_ = c.ParseFlags(args)
}

// logWriter is the standard error of a command: log lines, and other lines. With --log-format json each line
// becomes a JSON document.
type logWriter struct {
	w     io.Writer
	flags *logFlags

	mu      sync.Mutex
	partial []byte // with JSON: a line without its end, which a later Write completes
}

// Warning is the prefix of lines that are warnings.
const Warning = "warning: "

// Write writes p unchanged, or with JSON each complete line as a document.
func (l *logWriter) Write(p []byte) (int, error) {
	if l.flags.format != FormatJSON {
		return l.w.Write(p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	completeLen := bytes.LastIndexByte(l.partial, '\n') + 1
	if completeLen > 0 {
		l.writeDocuments(l.partial[:completeLen])
		l.partial = append([]byte(nil), l.partial[completeLen:]...)
	}
	return len(p), nil
}

// writeDocuments writes each line as a JSON document.
func (l *logWriter) writeDocuments(lines []byte) {
	log := slog.New(slog.NewJSONHandler(l.w, nil))
	for line := range bytes.Lines(lines) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			continue
		}
		if text, ok := bytes.CutPrefix(line, []byte(Warning)); ok {
			log.Warn(string(text))
		} else {
			log.Info(string(line))
		}
	}
}

// flush writes the partial line as a document.
func (l *logWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writeDocuments(l.partial)
	l.partial = nil
}

// writeFailure writes the error of a failed command. With JSON the document also has the exit code, and the error
// starts with its class, as in the log.
func (l *logWriter) writeFailure(err error, code int) {
	text := err.Error()
	switch {
	case text == "": // the command has printed its result
		return
	case l.flags.format != FormatJSON:
		fmt.Fprintln(l.w, "tablewake:", text)
		return
	}
	l.flush()
	class := redact.ErrorClass(err)
	if class != redact.UnknownClass && !strings.HasPrefix(text, class+":") {
		text = class + ": " + text
	}
	slog.New(slog.NewJSONHandler(l.w, nil)).Error("the command failed", slog.String("error", text),
		slog.Int("exit_code", code))
}

// findLogWriter returns the logWriter that w is or wraps, or nil if there is none.
func findLogWriter(w io.Writer) *logWriter {
	switch w := w.(type) {
	case *logWriter:
		return w
	case *Progress:
		return findLogWriter(w.w)
	case *StatusLines:
		return findLogWriter(w.w)
	}
	return nil
}

// NewLogger returns a logger that writes to w. --log-format sets its format, and --log-level overrides level.
// verbose sets the level to debug.
func NewLogger(w io.Writer, level slog.Level, verbose bool) *slog.Logger {
	log := findLogWriter(w)
	switch {
	case verbose:
		level = slog.LevelDebug
	case log != nil && log.flags.levelGiven:
		level = log.flags.level.Level()
	}
	opts := &slog.HandlerOptions{Level: level}
	if log != nil && log.flags.format == FormatJSON {
		return slog.New(slog.NewJSONHandler(log.w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// NewWarnLogger returns a logger for warnings, or with verbose for all levels.
func NewWarnLogger(w io.Writer, verbose bool) *slog.Logger {
	return NewLogger(w, slog.LevelWarn, verbose)
}

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

// logFlags define how every command writes to standard error, and how much it logs.
type logFlags struct {
	format Format
	level  slog.LevelVar
	set    bool // --log-level was given
}

// add adds the flags to c and the commands below it.
func (l *logFlags) add(c *cobra.Command) {
	l.format = FormatText
	f := c.PersistentFlags()
	f.Var(&l.format, "log-format", "how standard error is written: text, or json: each line is a document")
	f.TextVar(&l.level, "log-level", &l.level, "what is logged: debug, info, warn or error (default warn; consume: info)")
	f.Lookup("log-level").DefValue = ""
	completeFormat(c, "log-format")
	_ = c.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
}

// find sets the flags from args after the parsing of args failed at another flag.
func (l *logFlags) find(args []string) {
	c := &cobra.Command{FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}}
	l.add(c)
	_ = c.ParseFlags(args)
}

// logWriter is standard error. It gets the log and other lines of a command; with JSON each line is a document.
type logWriter struct {
	w     io.Writer
	flags *logFlags

	mu  sync.Mutex
	cut []byte // with JSON: an incomplete line, which a later Write ends
}

// Warning begins the lines that are warnings.
const Warning = "warning: "

// Write writes p as it is. With JSON it writes each complete line as a document.
func (l *logWriter) Write(p []byte) (int, error) {
	if l.flags.format != FormatJSON {
		return l.w.Write(p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = append(l.cut, p...)
	if n := bytes.LastIndexByte(l.cut, '\n') + 1; n > 0 {
		l.document(l.cut[:n])
		l.cut = append([]byte(nil), l.cut[n:]...)
	}
	return len(p), nil
}

// document writes each line as a document.
func (l *logWriter) document(lines []byte) {
	log := slog.New(slog.NewJSONHandler(l.w, nil))
	for line := range bytes.Lines(lines) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			continue
		}
		if text, ok := bytes.CutPrefix(line, []byte(Warning)); ok {
			log.Warn(string(text))
		} else {
			log.Info(string(line))
		}
	}
}

// end writes an incomplete line as a document.
func (l *logWriter) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.document(l.cut)
	l.cut = nil
}

// failed writes the error that a command ends with. With JSON it begins with its class, as in the log, and the exit
// code is beside it.
func (l *logWriter) failed(err error, code int) {
	text := err.Error()
	switch {
	case text == "": // the exit code is enough
		return
	case l.flags.format != FormatJSON:
		fmt.Fprintln(l.w, "tablewake:", text)
		return
	}
	l.end()
	if class := redact.ErrorClass(err); class != redact.UnknownClass && !strings.HasPrefix(text, class+":") {
		text = class + ": " + text
	}
	slog.New(slog.NewJSONHandler(l.w, nil)).Error("the command failed", slog.String("error", text), slog.Int("exit_code", code))
}

// standardError returns the logWriter in w; nil if there is none.
func standardError(w io.Writer) *logWriter {
	switch w := w.(type) {
	case *logWriter:
		return w
	case *Progress:
		return standardError(w.w)
	}
	return nil
}

// NewLogger returns a logger to w. The flags of w set its format, and its level if --log-level was given; else the
// level is level. verbose sets debug in any case.
func NewLogger(w io.Writer, level slog.Level, verbose bool) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	to := standardError(w)
	if to != nil && to.flags.set {
		o.Level = to.flags.level.Level()
	}
	if verbose {
		o.Level = slog.LevelDebug
	}
	if to != nil && to.flags.format == FormatJSON {
		return slog.New(slog.NewJSONHandler(to.w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// Logger logs warnings, and all with verbose.
func Logger(w io.Writer, verbose bool) *slog.Logger {
	return NewLogger(w, slog.LevelWarn, verbose)
}

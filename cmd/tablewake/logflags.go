package main

import (
	"bytes"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
)

// logFlags say how a command logs to standard error, and how much.
type logFlags struct {
	format format
	level  slog.LevelVar
	set    bool // the level was given
}

func (l *logFlags) add(c *cobra.Command) {
	l.format = formatText
	f := c.Flags()
	f.Var(&l.format, "log-format", "how the log is written: text or json")
	f.TextVar(&l.level, "log-level", &l.level, "what is logged: debug, info, warn or error (default info; replay and redrive: warn)")
	f.Lookup("log-level").DefValue = ""
	_ = c.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
	before := c.PreRun
	c.PreRun = func(c *cobra.Command, args []string) {
		l.set = f.Changed("log-level")
		if before != nil {
			before(c, args)
		}
	}
}

// writer wraps w as the flags say. With json each line that is written to it becomes a document of
// the log, which then holds documents only.
func (l *logFlags) writer(w io.Writer) io.Writer { return &logWriter{w: w, flags: l} }

// logWriter takes a log and the lines that are printed beside it.
type logWriter struct {
	w     io.Writer
	flags *logFlags
}

// Write writes lines as they are, or each as a document with json.
func (l *logWriter) Write(p []byte) (int, error) {
	if l.flags.format != formatJSON {
		return l.w.Write(p)
	}
	log := slog.New(slog.NewJSONHandler(l.w, nil))
	for line := range bytes.Lines(p) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			log.Info(string(line))
		}
	}
	return len(p), nil
}

// newLogger logs to w from that level on, in the form and from the level that its flags say.
func newLogger(w io.Writer, level slog.Level, verbose bool) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	to, ok := w.(*logWriter)
	if ok && to.flags.set {
		o.Level = to.flags.level.Level()
	}
	if verbose {
		o.Level = slog.LevelDebug
	}
	if ok && to.flags.format == formatJSON {
		return slog.New(slog.NewJSONHandler(to.w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

package pipeline

// errs makes the errors of this package, which say of themselves what a log may.
const errs = Class("pipeline")

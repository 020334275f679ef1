// Package explain is the commands that plan saved records and write nothing: explain and cost.
package explain

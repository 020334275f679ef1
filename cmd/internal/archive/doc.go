// Package archive is the commands that work on archives: athena and compact.
package archive

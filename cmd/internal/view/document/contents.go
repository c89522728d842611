package document

import (
	"slices"
	"strings"
)

// A Fold is folded away at first under its title.
type Fold struct {
	ID     string // set by finish
	Title  string
	Words  []string
	Charts []*Chart
	Tables []*Table
}

// manyBlocks is how many a section has that lists them.
const manyBlocks = 10

// Contents are the blocks that a list of contents has: of a section with answers in its
// blocks, or with many of them. nil for none.
func (s *Section) Contents() []*Block {
	var out []*Block
	leads := 0
	for _, b := range s.Blocks {
		if b.Title != "" {
			out = append(out, b)
		}
		if b.Lead != "" {
			leads++
		}
	}
	if leads < 2 && len(out) < manyBlocks {
		return nil
	}
	return out
}

// Says is the block in a line.
func (b *Block) Says() string {
	if b.Lead == "" && len(b.Words) > 0 && len(b.Words[0]) < 160 {
		return b.Words[0]
	}
	return b.Lead
}

// All is what a section is about, and where it was measured.
func (s *Section) All() []string { return slices.Concat(s.About, s.Where) }

// Name is the heading in a line.
func (s *Section) Name() string { return shortened(s.Heading) }

// Says is the section's answer in a line.
func (s *Section) Says() string {
	for _, a := range s.Answers {
		if a.Main || len(s.Answers) == 1 {
			return strings.TrimSpace(a.Figure + " " + a.Text)
		}
	}
	return ""
}

// AllTables are those of a block, folded away or not.
func (b *Block) AllTables() []*Table {
	out := slices.Clone(b.Tables)
	for _, f := range b.Folds {
		out = append(out, f.Tables...)
	}
	return out
}

// AllCharts are those of a block, folded away or not.
func (b *Block) AllCharts() []*Chart {
	out := slices.Clone(b.Charts)
	for _, f := range b.Folds {
		out = append(out, f.Charts...)
	}
	return out
}

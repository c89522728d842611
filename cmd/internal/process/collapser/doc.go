// Package collapser puts memory of another, live process on huge pages, window by
// window (MADV_COLLAPSE by process_madvise, kernel 6.1+). The process need not know.
//
// A [Plan] says which windows, the densest first; it is made without the kernel. A
// [Collapser] carries plans out: it looks at the density of each window again just
// before, keeps to a rate, and remembers what not to try again. A sparse window is
// never collapsed: that would make a whole huge page of memory out of what is there.
// That a window changes or vanishes meanwhile is nothing special: the kernel refuses.
package collapser

package report

// A screen has so many lines and columns: that is what the answer of a run takes at most.
const ()

const ()

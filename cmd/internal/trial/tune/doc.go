// Package tune searches the settings of the Go runtime for the best ones for a
// program.
//
// The search is a race and a final. In the race every setting gets a few rounds;
// those that are clearly slower leave, and the neighborhood of the best is filled
// in. The race only finds candidates: samples of a setting that was chosen for
// looking fast flatter it. In the final the default, the best of the race and its
// rivals run again, interleaved, until the answer is conclusive or the time budget is
// spent. Recommendations, and every difference that is shown, are of the final's
// samples alone.
//
// In a round each arm runs once, in random order, and arms are compared within
// rounds only, so that a machine that changes its speed misleads no one. What is
// compared is a cost: seconds, or the user's metric (its inverse when more is
// better). Memory is the peak of the whole process tree.
//
// Of a program for which no setting matters at most one search in twenty
// recommends one, however noisy the machine: differences are tested with Wilcoxon's
// signed-rank test on the rounds' ratios, corrected for the number of settings
// (Holm) and for looking several times (the error is divided among the looks).
package tune

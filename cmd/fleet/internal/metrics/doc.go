// Package metrics is the contract between folio-agent, which serves these metrics, and
// folio-fleet, whose rules and queries read them: names, labels, units and meanings. A
// name, a label or a unit does not change once it is released; what is new gets a new name.
//
// Conventions. Units are base units (seconds, bytes), in the name. Counters end in _total,
// never go backwards while their series exists, and keep what ended processes used. A
// series has the labels [WorkloadLabels] when it is about a container, or [LabelNode] alone
// when it is about the agent. No label has a PID, a container ID or a path, so that the
// number of series is bounded by the number of containers on the node ([MaxSeries]).
//
// Several Go processes in one container are one series: bytes and seconds are sums; for
// settings (GOGC, GOMEMLIMIT), the process with the largest heap counts.
//
// What is not known has no sample: a heap that the agent may not read is absent, never 0.
//
// Go processes outside pods have an empty namespace and pod. With a container runtime
// other than Kubernetes, container is [OutsideContainer]; for services of the host it is
// [OutsideHost].
//
// Without the Kubernetes API, or until it answered, the namespace is empty, pod is the UID
// of the pod, container the first 12 digits of the container's ID, and
// [AgentKubernetesSynced] is 0.
package metrics

//! firesteel-sim

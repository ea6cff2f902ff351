//! firesteel-placement

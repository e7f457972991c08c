//! ontap
